#!/bin/sh
# Installs kb and wf as one file, for this user alone; needs no Node.js and never root.
#   sh install.sh --from DIRECTORY|URL [--to DIRECTORY]
# --from has the files of a release, with SHA256SUMS; --to is ~/.local/bin unless given.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

from= to="${HOME:?}/.local/bin"
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || fail "usage: install.sh --from DIRECTORY|URL [--to DIRECTORY]"
  case $1 in
    --from) from=$2 ;;
    --to) to=$2 ;;
    *) fail "unknown option $1" ;;
  esac
  shift 2
done
[ -n "$from" ] || fail "usage: install.sh --from DIRECTORY|URL [--to DIRECTORY]"

case $(uname -sm) in
  "Linux x86_64") system=linux-x64 ;;
  "Linux aarch64") system=linux-arm64 ;;
  *) fail "there is no single file for $(uname -sm); with Node.js: npm install -g the .tgz of the release" ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# Copies a file of the release into the folder.
take() {
  case $from in
    https://* | http://127.0.0.1:* | http://localhost:*)
      if command -v curl >/dev/null; then curl -fsSL --proto-redir =https "$from/$1" -o "$folder/$1"
      else wget -q "$from/$1" -O "$folder/$1"; fi ;;
    *://*) fail "only https is taken" ;;
    *) cp "$from/$1" "$folder/$1" ;;
  esac || fail "cannot read $1 from $from"
}

take SHA256SUMS
file=$(sed -n "s/^[0-9a-f]\{64\}  \(kb-wf-[0-9A-Za-z.-]*-$system\)$/\1/p" "$folder/SHA256SUMS")
[ "$(printf '%s\n' "$file" | grep -c .)" = 1 ] || fail "the release has no file for $system"
take "$file"
(cd "$folder" && grep "  $file\$" SHA256SUMS | sha256sum -c - >/dev/null 2>&1) ||
  fail "the checksum of $file is wrong; nothing was installed"

mkdir -p "$to"
for name in kb wf; do
  [ ! -d "$to/$name" ] || fail "$to/$name is a directory; nothing was installed"
done
# Beside the programs, so that each is replaced in one step and never half.
new=$(mktemp -d "$to/.kb-wf.XXXXXX")
trap 'rm -rf "$folder" "$new"' EXIT
cp "$folder/$file" "$new/kb"
chmod 755 "$new/kb"
ln -s kb "$new/wf"
for name in kb wf; do
  version=$("$new/$name" --version) || fail "$name of the release does not run here; nothing was installed"
done
mv -f "$new/kb" "$to/kb"
mv -f "$new/wf" "$to/wf"
echo "installed ${version#* } in $to"
case ":$PATH:" in
  *":$to:"*) ;;
  *) echo "add $to to PATH: export PATH=\"$to:\$PATH\"" ;;
esac
