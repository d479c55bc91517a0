# Sourced: a Debian 12 of the least packages as a tar file, by debootstrap, which needs root. Callers define fail().
# Environment: AXION_DEBIAN_MIRROR (default where apt fetches from).

debian_mirror() {
  if [ -n "${AXION_DEBIAN_MIRROR:-}" ]; then
    echo "$AXION_DEBIAN_MIRROR"
  elif command -v apt-get >/dev/null; then
    # Security updates lie under another path than what debootstrap asks for.
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -v security |
      head -n 1 || true
  fi
}

# make_debian_base FILE.tar: made once, then kept.
make_debian_base() {
  local made="$1" folder="$1.d"
  [ ! -s "$made" ] || return 0
  command -v debootstrap >/dev/null || fail "debootstrap is not installed"
  [ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
  rm -rf "$folder"
  # shellcheck disable=SC2046  # no mirror is no argument
  debootstrap --variant=minbase bookworm "$folder" $(debian_mirror) > "$made.log" 2>&1 \
    || fail "debootstrap failed, see $made.log"
  tar -C "$folder" --exclude='./var/cache/apt/archives/*.deb' -c . > "$made.part"
  mv "$made.part" "$made"
  rm -rf "$folder"
}
