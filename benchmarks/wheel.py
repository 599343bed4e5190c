"""Does the wheel work with no repository around? Build it, install it into a new environment, and fit the example.

Run with ``python -m benchmarks.wheel``. The new environment sees the packages of this one, but not this repository. The
commands run in an empty folder whose path has a blank in it, with a package that nobody can write to, so that the
compiled kernel has to go to a cache in the user's home.
"""

import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from benchmarks import ROOT

FINE = (0, 3)  # done, and done with warnings
COMMANDS = (
    ("init", "x"),
    ("check", "data/example.csv", "--protocol", "protocols/my_task.toml"),
    ("simulate", "--protocol", "compositional_3", "--model", "bias", "--subjects", "2", "--out", "simulated.csv"),
    ("fit", "data/example.csv", "--protocol", "protocols/my_task.toml", "--quick", "--workers", "1", "--out", "runs/x"),
    ("status", "runs/x"),
)


def build(folder: Path) -> Path:
    """Build the wheel with what is installed, and return it."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    strangers = {name.split("/")[0] for name in names} - {"holmes_fit", f"{wheel.name.split('-py3')[0]}.dist-info"}
    compiled = [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]
    if strangers or compiled:
        raise SystemExit(f"The wheel holds what it should not: {sorted(strangers)} {compiled[:3]}")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into a new environment, and return the environment's site-packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", wheel], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    # A path in a .pth file is searched, but .pth files in there are not, so the editable installation stays unseen.
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return packages


def run(command: list[str | Path], folder: Path, home: Path) -> str:
    """Run a command with nothing around it but a home, and return what it printed."""
    surroundings = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode not in FINE:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def protect(package: Path) -> None:
    """Keep everyone, administrators too, from writing caches into a package: a file stands where they would go."""
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="holmes fit ") as temporary:
        base = Path(temporary)
        packages = install(build(base / "wheel"), base / "environment")
        package = packages / "holmes_fit"
        protect(package)
        home = base / "home"
        home.mkdir()
        scripts = base / "environment" / "bin"
        seen = run([scripts / "python", "-c", "import holmes_fit; print(holmes_fit.__file__)"], home, home).strip()
        if Path(seen).parent.resolve() != package.resolve():
            raise SystemExit(f"The commands would not run the wheel but {seen}.")
        folder = home
        for arguments in COMMANDS:
            begun = time.perf_counter()
            run([scripts / "holmes-fit", *arguments], folder, home)
            print(f"{time.perf_counter() - begun:5.1f} s  holmes-fit {' '.join(arguments)}", flush=True)
            folder = home / "x"
        kept = [path for path in home.rglob("*.nbi") if package not in path.parents]
        if not (folder / "runs" / "x" / "fits.csv").exists() or not kept or list(package.rglob("*.nbi")):
            raise SystemExit("There are no fits, or the compiled kernel was not kept in the user's cache.")
        cache = kept[0].parent.parent.relative_to(home)
        print(f"The wheel works alone; {len(kept)} compiled functions are kept in the user's {cache}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
