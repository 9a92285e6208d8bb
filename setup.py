"""Builds the compiled parts where there is a C compiler; without one, their NumPy and Python fallbacks do their work.

The kernels are one shared library without Python in it. Each source is compiled once per instruction set of the
processor that the compiler builds for, with that set's options, and, if it is generic in the type of a cell, once per
type. GCC, clang and ``zig cc`` do it.
"""

import os
import runpy
import shlex
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Extension, setup
from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

FOLDER = "src/suffice/compiled"
SPAM = "src/suffice/spam"
KERNELS = "suffice.compiled.kernels"
IS_FOR_WINDOWS = sysconfig.get_platform().startswith("win")
OPTIONS = ["-O3", "-std=gnu11", "-ffp-contract=fast", "-fvisibility=hidden", "-Wno-psabi"]
#: the instruction sets of each processor, by the macro that compilers define for it, and the options for each of them
LEVELS = {
    "__x86_64__": {
        "base": [],
        "avx2": ["-march=haswell"],
        "avx512": [
            "-march=haswell",
            "-mprefer-vector-width=512",
            *(f"-mavx512{part}" for part in ["f", "cd", "bw", "dq", "vl"]),
        ],
    },
    "__aarch64__": {"neon": []},
}
#: the loops of the widest instruction set in narrower instructions, to test them where the processor does not have it
EMULATED = {"avx512": ["-march=haswell", "-DEMULATED", "-DLANES=8", "-DMAX_CLASSES=10"]}
#: the source that is compiled once, and the types of a cell that others are compiled for, if not only double
LIBRARY = "library.c"
CELLS = {source: ["double", "float"] for source in ("moments.c", "scores.c", "sparse.c", "mixture.c")}
CELLS |= {"codes.c": ["int64", "int32"]}
SIGNATURES = f"{FOLDER}/signatures.py"
#: the program that asks the daemon of the spam filter, and what stands in its place where there is no compiler
CLIENT, CLIENT_SOURCE = "suffice-filter", f"{SPAM}/_filter.c"
CLIENT_IN_PYTHON = """#!python
import sys

from suffice.cli import main

sys.argv[1:] = ["spam", "filter", "--daemon", *sys.argv[1:]]
main()
"""


class BuildKernels(build_ext):
    """Optimise, in the words of the compiler at hand."""

    def build_extension(self, extension: Extension) -> None:
        """Choose the options and build; the kernels for each instruction set."""
        if extension.name == KERNELS:
            target = Path(self.get_ext_fullpath(extension.name))
            newest = max(Path(path).stat().st_mtime for path in (*extension.sources, *extension.depends))
            if not self.force and target.exists() and target.stat().st_mtime > newest:
                return
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = [one for found in pool.map(self._compile, *zip(*self._parts(), strict=True)) for one in found]
            libraries = [] if IS_FOR_WINDOWS else ["m"]
            self.compiler.link_shared_object(objects, str(target), libraries=libraries)
            return
        # the fallbacks of the spam filter are in Python, which rounds every product: no fused multiply-add
        gnu = ["-O3", "-std=gnu11", "-ffp-contract=off"]
        extension.extra_compile_args = ["/O2"] if self.compiler.compiler_type == "msvc" else gnu
        super().build_extension(extension)

    def _compile(self, source: str, variant: str, options: list[str]) -> list[str]:
        folder = f"{self.build_temp}/{variant}"  # objects are named after their source
        given = shlex.split(os.environ.get("CFLAGS", ""))  # what the user says comes after what we say of all levels
        return self.compiler.compile([f"{FOLDER}/{source}"], folder, extra_postargs=[*OPTIONS, *given, *options])

    def _parts(self) -> list[tuple[str, str, list[str]]]:
        """Return the objects to compile: their source, variant (level and type of a cell) and options.

        The levels are those of the processor that the compiler builds for, which may not be the one at hand.
        """
        try:
            command = [*self.compiler.compiler_so, "-dM", "-E", "-x", "c", "-"]
            macros = subprocess.run(command, input="", capture_output=True, text=True, check=True).stdout
        except (AttributeError, OSError, subprocess.SubprocessError) as error:  # then the kernels are left out
            raise CompileError(f"the kernels need GCC or clang: {error}") from error
        levels = next((found for macro, found in LEVELS.items() if f"#define {macro} " in macros), {"base": []})
        common = [f"-DFINGERPRINT={runpy.run_path(SIGNATURES)['FINGERPRINT']}"]
        if os.environ.get("SUFFICE_EMULATE"):
            levels, common = levels | EMULATED, [*common, "-DEMULATED"]
        elif "avx512" in levels and "__clang__" not in macros:  # zig cc, which is clang, would take it for -march
            levels = levels | {"avx512": [*levels["avx512"], "-mtune=skylake-avx512"]}
        parts = [
            (source, f"{level}-{cell}", [f"-DLEVEL={level}", f"-DCELL={cell}", *options])
            for level, options in levels.items()
            for source in sorted({path.name for path in Path(FOLDER).glob("*.c")} - {LIBRARY})
            for cell in CELLS.get(source, ["double"])
        ]
        parts.sort(key=lambda part: part[0] != "mixture.c")  # takes longest, so it starts first
        return [*parts, (LIBRARY, "common", common)]

    def get_ext_filename(self, name: str) -> str:
        """Return the name of the file; that of the kernels is the same for every Python."""
        if name.split(".")[-1] == KERNELS.split(".")[-1]:
            return f"{name.replace('.', '/')}{'.dll' if IS_FOR_WINDOWS else '.so'}"
        return super().get_ext_filename(name)


class BuildClient(Command):
    """Build the program `suffice-filter`, in the place of the command that copies scripts."""

    description = "build suffice-filter"
    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None:
        """Set what other commands look for."""
        self.build_dir = self.build_temp = self.executable = None

    def finalize_options(self) -> None:
        """Take the folders of the build."""
        self.set_undefined_options("build", ("build_scripts", "build_dir"), ("build_temp", "build_temp"))

    def get_source_files(self) -> list[str]:
        """Return what a source archive needs."""
        return [CLIENT_SOURCE]

    def run(self) -> None:
        """Compile, or write the program in Python."""
        target = Path(self.build_dir, CLIENT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            objects = compiler.compile(
                [CLIENT_SOURCE], f"{self.build_temp}/client", extra_postargs=["-O2", "-std=gnu11"]
            )
            compiler.link_executable(objects, CLIENT, output_dir=self.build_dir)
        except Exception as error:  # without a compiler, in the words of whichever setuptools it is
            self.warn(f"{CLIENT} is not compiled: {error}")
        if not target.exists():
            target.write_text(CLIENT_IN_PYTHON)
        target.chmod(0o755)


kernels = Extension(
    KERNELS, glob(f"{FOLDER}/*.c"), depends=[__file__, SIGNATURES, *glob(f"{FOLDER}/*.h")], optional=True
)
scan = Extension(
    "suffice.spam._scan",
    [f"{SPAM}/_scan.c"],
    depends=glob(f"{SPAM}/_scan_*.h"),
    py_limited_api=True,
    optional=True,
)
modules = [kernels] if os.path.exists(FOLDER) else []  # the distribution suffice-spam has none
arguments = {"cmdclass": {"build_ext": BuildKernels, "build_scripts": BuildClient}}
if not IS_FOR_WINDOWS:
    arguments["scripts"] = [CLIENT_SOURCE]  # which `build_scripts` compiles
if sysconfig.get_config_var("Py_GIL_DISABLED"):  # free-threaded: CPython has no limited API there
    setup(ext_modules=modules, **arguments)
else:
    options = {"bdist_wheel": {"py_limited_api": "cp311"}}
    setup(ext_modules=[*modules, scan], options=options, **arguments)
