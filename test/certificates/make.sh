#!/bin/sh
# Makes the certificates of this folder anew.
set -e
cd "$(dirname "$0")"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }
certificate() { # name, section of extensions, last day, who signs
  openssl req -new -key "$keyfile" -subj "/CN=$1" -out "$made/request"
  openssl ca -batch -notext -config "$made/config" -extensions "$2" -in "$made/request" \
    -startdate 20240101000000Z -enddate "$3" -out "$1.pem" -keyfile "$made/authority.key" $4
}

touch "$made/index"
cat >"$made/config" <<END
[ca]
default_ca = all
[all]
database = $made/index
new_certs_dir = $made
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:true
[here]
subjectAltName = IP:127.0.0.1, IP:::1, DNS:localhost, DNS:kb.example
[elsewhere]
subjectAltName = DNS:other.example
END

key "$made/authority.key"
key key.pem
last=21231231000000Z
keyfile=$made/authority.key
certificate authority authority $last -selfsign
keyfile=key.pem
certificate trusted here $last "-cert authority.pem"
certificate other-host elsewhere $last "-cert authority.pem"
certificate expired here 20240102000000Z "-cert authority.pem"
cp key.pem "$made/authority.key"
certificate self-signed here $last -selfsign
