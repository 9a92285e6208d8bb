"""Builds the compiled kernels where there is a C compiler; without one, the NumPy twins do their work."""

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "src/suffice/compiled"
PARTS = ("all", "lanes", "real", "codes", "posterior", "holes", "mixture", "patterns", "linear")


class BuildKernels(build_ext):
    """Optimise, in the words of the compiler at hand."""

    def build_extensions(self) -> None:
        """Choose the options and build."""
        flags = ["/O2"] if self.compiler.compiler_type == "msvc" else ["-O3", "-std=gnu11", "-Wno-psabi"]
        for extension in self.extensions:
            extension.extra_compile_args = flags
        super().build_extensions()


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(
            "suffice.compiled.kernels",
            [f"{FOLDER}/kernels.c"],
            depends=[f"{FOLDER}/kernels_{part}.h" for part in PARTS],
            optional=True,
        )
    ],
)
