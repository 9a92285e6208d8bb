"""Builds the source archives of suffice and suffice-spam and a wheel of each per platform, and checks them.

See `make wheels`.

The compiler is that of PyPI's `ziglang`, which builds for every platform. setup.py learns of the platform as in every
cross build with CPython's tools: from a module of build variables and from the name of the platform. A wheel serves all
CPythons from 3.11 on: the kernels do not use Python, and the loops of the spam filter use its limited API.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

import lief
import spam_package
from abi3info import DATAS, FUNCTIONS

#: the platforms, as wheels and as the compiler name them; in each the lowest version of the system that will do
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_10_13_x86_64": "x86_64-macos.10.13",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
#: what the headers of Python need to know of the platform; the compiler knows it
CONFIGURATION = """
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#ifdef _WIN32
#define MS_WINDOWS
#define MS_WIN64
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED
#endif
"""
ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
ZIG = f"{sys.executable} -m ziglang"


def run(*command: str | Path, **options: object) -> str:
    """Run a command and return what it printed; end with that if it fails."""
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, command))} ended with {done.returncode}")
    return done.stdout


def prepare(folder: Path) -> None:
    """Write what the builds share: headers of Python for any platform, and the library that Windows links against."""
    shutil.copytree(sysconfig.get_path("include"), folder / "include", ignore=shutil.ignore_patterns("pyconfig.h"))
    (folder / "include" / "pyconfig.h").write_text(CONFIGURATION)
    names = [symbol.name for symbol in FUNCTIONS] + [f"{symbol.name} DATA" for symbol in DATAS]
    (folder / "python3.def").write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *names]))
    machine = ["-m", "i386:x86-64", "-d", folder / "python3.def", "-l", folder / "libpython3.a"]
    run(*ZIG.split(), "dlltool", *machine)


def build(platform: str, source: Path, shared: Path) -> Path:
    """Build the wheel of a platform from the unpacked source archive."""
    windows = platform.startswith("win")
    compiler = f"{ZIG} cc -target {TARGETS[platform]}"
    python = {"mac": "-undefined dynamic_lookup", "win": f"-L{shared} -lpython3"}.get(platform[:3], "")
    link = f"{compiler} -O3 -shared -s {python}"
    variables = {
        "CC": compiler,
        "CXX": compiler,
        "CFLAGS": f"-I{shared / 'include'} -DNDEBUG -fwrapv -g0",
        "CCSHARED": "" if windows else "-fPIC",
        "LDSHARED": link,
        "LDCXXSHARED": link,
        "AR": f"{ZIG} ar",
        "ARFLAGS": "rcs",
        "EXT_SUFFIX": ".pyd" if windows else f".cpython-{sys.version_info[0]}{sys.version_info[1]}.so",
        "SHLIB_SUFFIX": ".so",
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "target_variables.py").write_text(f"build_time_vars = {variables!r}")
        environment = {name: value for name, value in os.environ.items() if name not in (*variables, "LDFLAGS")}
        environment |= {"PYTHONPATH": folder, "_PYTHON_SYSCONFIGDATA_NAME": "target_variables"}
        environment["_PYTHON_HOST_PLATFORM"] = platform
        run(sys.executable, "setup.py", "build", cwd=source, env=environment)
        if platform.startswith("musl"):  # its own name of the C library is what auditwheel asks for
            name = f"libc.musl-{TARGETS[platform].split('-')[0]}.so.1"
            for library in (source / "build").glob(f"lib.{platform}*/**/*.so"):
                run("patchelf", "--replace-needed", "libc.so", name, library)
        command = [sys.executable, "setup.py", "bdist_wheel", "--skip-build", "--plat-name", platform]
        run(*command, "--dist-dir", DIST, cwd=source, env=environment)
    (wheel,) = DIST.glob(f"{source.name}-*-{platform}.whl")
    return wheel


def exported(path: Path, processor: str) -> set[str]:
    """Return the names that a shared library exports; end unless it can be loaded on the processor."""
    lief.logging.disable()
    library = lief.parse(path)
    found = library.abstract.header.architecture.name
    if found != processor:
        sys.exit(f"{path.name} is for {found}, not for {processor}")
    names = {symbol.name for symbol in library.exported_functions}
    if isinstance(library, lief.MachO.Binary):
        names = {name[1:] for name in names}  # which begin with an underscore there
        if processor == "ARM64" and not library.has_code_signature:
            sys.exit(f"{path.name} is not signed, so that macOS does not load it")
        loose = [symbol.name for symbol in library.imported_symbols if not symbol.binding_info.has_library]
        if unknown := [name for name in loose if not name.startswith(("_Py", "__Py"))]:
            sys.exit(f"{path.name} needs {', '.join(unknown)}, which no library has")
    return {name for name in names if not name.startswith("_")}


def check(wheel: Path, platform: str) -> set[str]:
    """End unless a wheel is in order and holds its libraries for its platform; return what the kernels export."""
    run("twine", "check", "--strict", wheel)
    run("check-wheel-contents", wheel)
    run("abi3audit", "--strict", wheel)
    if "linux" in platform and f'"{platform}"' not in (said := run("auditwheel", "show", wheel)):
        sys.exit(f"{wheel.name} is not for {platform}:\n{said}")
    suffixes = (".dll", ".pyd") if platform.startswith("win") else (".so", ".abi3.so")
    processor = "ARM64" if TARGETS[platform].startswith("aarch64") else "X86_64"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        found = {
            name: exported(Path(archive.extract(f"suffice/{name}{suffix}", folder)), processor)
            for name, suffix in zip(("compiled/kernels", "spam/_scan"), suffixes, strict=True)
            if name != "compiled/kernels" or not wheel.name.startswith("suffice_spam")
        }
        clients = [name for name in archive.namelist() if name.endswith(".data/scripts/suffice-filter")]
        if platform.startswith("win") == bool(clients):
            sys.exit(f"{wheel.name} must have the program suffice-filter, but on Windows")
        for client in clients:
            exported(Path(archive.extract(client, folder)), processor)
    scan = found["spam/_scan"]
    if scan != {"PyInit__scan"}:
        sys.exit(f"the loops of the spam filter in {wheel.name} export {sorted(scan)} instead of PyInit__scan")
    return found.get("compiled/kernels", set())


def main() -> None:
    """Build all, or for the platforms that are given, and print what was built."""
    platforms = sys.argv[1:] or [*TARGETS]
    if unknown := {*platforms} - {*TARGETS}:
        sys.exit(f"there are no wheels for {', '.join(unknown)}; the platforms are {', '.join(TARGETS)}")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where the tools are
    for old in DIST.glob("suffice[-_]*"):
        old.unlink()
    exports: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spam_package.stage(folder / "spam")
        sources = [unpacked("suffice", ROOT, folder), unpacked("suffice_spam", folder / "spam", folder)]
        prepare(folder)
        for platform in platforms:
            for source in sources:
                wheel = build(platform, source, folder)
                names = check(wheel, platform)
                print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(names)} kernels", flush=True)
                before = exports.setdefault(f"{source.name} {TARGETS[platform].split('-')[0]}", names)
                if names != before:
                    sys.exit(f"the kernels of {wheel.name} lack {before - names} or have too much: {names - before}")


def unpacked(name: str, root: Path, folder: Path) -> Path:
    """Build the source archive of a distribution, and return the folder it is unpacked into, which has its name."""
    run(sys.executable, "setup.py", "sdist", "--dist-dir", DIST, cwd=root)
    (archive,) = DIST.glob(f"{name}-*.tar.gz")
    run("twine", "check", "--strict", archive)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return (folder / archive.name.removesuffix(".tar.gz")).rename(folder / name)


if __name__ == "__main__":
    main()
