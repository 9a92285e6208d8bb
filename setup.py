"""Builds the compiled parts where there is a C compiler; without one, their NumPy and Python twins do their work."""

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "src/suffice/compiled"
SPAM = "src/suffice/spam"
PARTS = tuple(
    "all lanes real codes posterior holes mixture patterns linear cluster small em covariance volumes axes merge".split()
)


class BuildKernels(build_ext):
    """Optimise, in the words of the compiler at hand."""

    def build_extensions(self) -> None:
        """Choose the options and build."""
        flags = ["/O2"] if self.compiler.compiler_type == "msvc" else ["-O3", "-std=gnu11", "-Wno-psabi"]
        # the twins of the spam filter are in Python, which rounds every product: no fused multiply-add
        exact = [] if self.compiler.compiler_type == "msvc" else ["-ffp-contract=off"]
        for extension in self.extensions:
            extension.extra_compile_args = flags + (exact if extension.name.startswith("suffice.spam") else [])
        super().build_extensions()


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(
            "suffice.compiled.kernels",
            [f"{FOLDER}/kernels.c"],
            depends=[f"{FOLDER}/kernels_{part}.h" for part in PARTS],
            optional=True,
        ),
        Extension(
            "suffice.spam._scan",
            [f"{SPAM}/_scan.c"],
            depends=[f"{SPAM}/_scan_{part}.h" for part in ("slices", "words", "tokens", "json", "weights")],
            optional=True,
        ),
    ],
)
