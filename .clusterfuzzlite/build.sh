#!/bin/bash -eu
# Builds every target of fuzz/targets for OSS-Fuzz and ClusterFuzzLite. $CC, $CFLAGS, $OUT, $SRC come from the image;
# $CFLAGS has the sanitizer and the coverage flags.
python3 -m pip install "setuptools>=77" "cython>=3.3,<3.4" jinja2
LDSHARED="$CC -shared $CFLAGS" python3 -m pip install --no-build-isolation .
python3 -m fuzz.seeds --folders
for target in $(python3 -m fuzz.run --list); do
  cat > "$SRC/fuzz_$target.py" <<PY
import sys

import atheris

with atheris.instrument_imports(include=["qwenparse"]):
    from fuzz.targets import $target as target

atheris.Setup(sys.argv, target.one)
atheris.Fuzz()
PY
  compile_python_fuzzer "$SRC/fuzz_$target.py" --paths . --paths tests --add-binary "$(python3 -c 'import qwenparse._core as c; print(c.__file__)'):qwenparse"
  cp fuzz/qwen.dict "$OUT/fuzz_$target.dict"
  (cd fuzz/work/seeds && zip -qr "$OUT/fuzz_${target}_seed_corpus.zip" grammar recorded cases)
done
