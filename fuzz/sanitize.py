"""The test suite under a sanitizer: python -m fuzz.sanitize address|undefined|leaks [PYTEST-ARGUMENTS]

`leaks` runs fuzz.leaks under the leak sanitizer instead. Reports go to fuzz/work/sanitize/, because pytest captures
what a sanitizer prints; the exit status is not 0 if there is one.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from fuzz.build import ROOT, WORK, build

RUNTIMES = {"address": "asan", "undefined": "ubsan_standalone"}


def runtime(sanitizer: str) -> Path:
    """clang's shared runtime of a sanitizer."""
    name = f"libclang_rt.{RUNTIMES[sanitizer]}-{platform.machine()}.so"
    found = subprocess.run(["clang", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    if not Path(found).is_absolute():
        raise SystemExit(f"clang has no {name}; it is in Debian's libclang-rt-14-dev")
    return Path(found)


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in (*RUNTIMES, "leaks"):
        raise SystemExit(__doc__)
    what, arguments = sys.argv[1], sys.argv[2:]
    sanitizer = "address" if what == "leaks" else what
    path = build(sanitizer)
    logs = WORK / "sanitize" / what
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    env = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(path), str(ROOT)]),
        LD_PRELOAD=str(runtime(sanitizer)),
        PYTHONMALLOC="malloc",
        ASAN_OPTIONS=f"detect_leaks={int(what == 'leaks')}:allocator_may_return_null=1:log_path={logs}/report",
        UBSAN_OPTIONS=f"print_stacktrace=1:halt_on_error=1:log_path={logs}/report",
        LSAN_OPTIONS=f"suppressions={ROOT / 'fuzz' / 'lsan.supp'}:print_suppressions=0",
        QWENPARSE_SANITIZED=what,
    )
    where = "import qwenparse._core as c; print(c.__file__)"
    quiet = env | {"ASAN_OPTIONS": "detect_leaks=0"}
    loaded = subprocess.run([sys.executable, "-c", where], env=quiet, capture_output=True, text=True, cwd=ROOT)
    if not loaded.stdout.startswith(str(path)):
        raise SystemExit(f"the instrumented core was not the one imported: {loaded.stdout or loaded.stderr}")
    # What is measured there is the plain build's.
    suite = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not measures", *arguments]
    command = ["-m", "fuzz.leaks"] if what == "leaks" else suite
    code = subprocess.run([sys.executable, *command], env=env, cwd=ROOT).returncode
    for report in sorted(logs.iterdir()):
        print(report.read_text(encoding="utf-8", errors="replace"))
        code = code or 1
    print(f"{what}: {'clean' if code == 0 else 'FAILED'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
