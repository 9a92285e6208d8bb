"""Builds the compiled parts where there is a C compiler; without one, their NumPy and Python fallbacks do their work.

The kernels are one shared library without Python in it: one source, ``kernels_level.c``, compiled once for each
instruction set of the processor that the compiler builds for, with that set's options.
"""

import runpy
import subprocess
import sys
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "src/suffice/compiled"
SPAM = "src/suffice/spam"
KERNELS = "suffice.compiled.kernels"
#: the instruction sets of each processor, by the macro that compilers define for it, and the options for each of them
LEVELS = {
    "__x86_64__": {
        "base": [],
        "avx2": ["-march=haswell"],
        "avx512": ["-march=skylake-avx512", "-mprefer-vector-width=512"],
    },
    "__aarch64__": {"neon": []},
}
FINGERPRINT = runpy.run_path(f"{FOLDER}/signatures.py")["FINGERPRINT"]


class BuildKernels(build_ext):
    """Optimise, in the words of the compiler at hand."""

    def build_extension(self, extension: Extension) -> None:
        """Choose the options and build; the kernels for each instruction set in turn."""
        if extension.name != KERNELS:
            # the fallbacks of the spam filter are in Python, which rounds every product: no fused multiply-add
            gnu = ["-O3", "-std=gnu11", "-ffp-contract=off"]
            extension.extra_compile_args = ["/O2"] if self.compiler.compiler_type == "msvc" else gnu
            super().build_extension(extension)
            return
        options = ["-O3", "-std=gnu11", "-ffp-contract=fast", "-Wno-psabi", f"-DFINGERPRINT={FINGERPRINT}"]
        objects = self._compile("kernels.c", "common", options)
        for level, more in self._levels().items():
            objects += self._compile("kernels_level.c", level, [*options, f"-DLEVEL={level}", *more])
        target = self.get_ext_fullpath(extension.name)
        self.compiler.link_shared_object(objects, target, libraries=[] if sys.platform == "win32" else ["m"])

    def _compile(self, source: str, level: str, options: list[str]) -> list[str]:
        folder = f"{self.build_temp}/{level}"  # objects are named after their source
        return self.compiler.compile([f"{FOLDER}/{source}"], folder, extra_postargs=options)

    def _levels(self) -> dict[str, list[str]]:
        """Return the levels of the processor that the compiler builds for; it may not be the one at hand."""
        command = [*self.compiler.compiler_so, "-dM", "-E", "-x", "c", "-"]
        macros = subprocess.run(command, input="", capture_output=True, text=True, check=True).stdout
        for macro, levels in LEVELS.items():
            if f"#define {macro} " in macros:
                return levels
        return {"base": []}

    def get_ext_filename(self, name: str) -> str:
        """Return the name of the file; that of the kernels is the same for every Python."""
        if name.split(".")[-1] == KERNELS.split(".")[-1]:
            return f"{name.replace('.', '/')}{'.dll' if sys.platform == 'win32' else '.so'}"
        return super().get_ext_filename(name)


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(KERNELS, glob(f"{FOLDER}/*.c"), depends=glob(f"{FOLDER}/*.h"), optional=True),
        Extension("suffice.spam._scan", [f"{SPAM}/_scan.c"], depends=glob(f"{SPAM}/_scan_*.h"), optional=True),
    ],
)
