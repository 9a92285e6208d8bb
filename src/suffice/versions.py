"""The information that a bug report should contain: versions, compiled kernels, BLAS and threads."""

from __future__ import annotations

import platform
from importlib.metadata import version

from suffice._version import __version__


def show_versions() -> None:
    """Print the versions of Suffice and its dependencies, the compiled kernels in use, and BLAS with its threads.

    Examples
    --------
    >>> import suffice
    >>> suffice.show_versions()
    suffice       ...
    Python        ...
    NumPy         ...
    SciPy         ...
    scikit-learn  ...
    kernels       ...
    threads       ...
    BLAS          ...
    """
    for name, value in _versions():
        print(f"{name:<13} {value}")


def _versions() -> list[tuple[str, str]]:
    import numpy
    import scipy.linalg  # noqa: F401  brings its own BLAS
    from threadpoolctl import threadpool_info

    from suffice import compiled
    from suffice._threads import threads

    found = [
        ("suffice", __version__),
        ("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"),
        ("NumPy", numpy.__version__),
        ("SciPy", version("scipy")),
        ("scikit-learn", version("scikit-learn")),
        ("kernels", _kernels(compiled.library)),
        ("threads", str(threads(None))),
    ]
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    for pool in pools:
        kind = f" ({pool['architecture']})" if pool.get("architecture") else ""
        found.append(("BLAS", f"{pool['internal_api']} {pool['version']}{kind}, {pool['num_threads']} threads"))
    return found if pools else [*found, ("BLAS", "unknown")]


def _kernels(library: object) -> str:
    from suffice.compiled import Library, loading

    if not isinstance(library, Library):
        return f"NumPy instead: {loading.find()[1]}"
    levels, built = ", ".join(library.levels), ", ".join(library.built)
    return f"{library.level} (this processor has {levels}; built for {built} by {library.compiler})"
