#!/usr/bin/env bash
# Builds the image of the Containerfile with the first builder that is installed and works: buildah, podman or docker. No image is
# pulled, and none is pushed.
#
#   hack/image.sh [NAME]    NAME is localhost/berth:<version> by default
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
committed_at=$(git log -1 --format=%ct 2>/dev/null || echo 0)
name=${1:-localhost/berth:$version}
# Bytes, so that a larger image is noticed before it is published.
readonly LARGEST=$((40 << 20))

builder=
for candidate in buildah podman docker; do
  if command -v "$candidate" >/dev/null && "$candidate" info >/dev/null 2>&1; then
    builder=$candidate
    break
  fi
done
if [ -z "$builder" ]; then
  echo "No builder of images works here: install buildah or podman (apt-get install buildah), or start the engine of docker." >&2
  exit 1
fi

hack/setup.sh musl
read -r target binary < <(hack/static.sh release | tail -n 1)
mkdir -p target/image
cp "$binary" target/image/berth
size=$(stat --format=%s target/image/berth)
if [ "$size" -ge "$LARGEST" ]; then
  echo "the program has $size bytes; an image has less than $LARGEST" >&2
  exit 1
fi

arguments=(--file Containerfile --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --tag "$name")
case "$builder" in
  buildah | podman) "$builder" build --timestamp "$committed_at" "${arguments[@]}" . ;;
  docker) SOURCE_DATE_EPOCH=$committed_at docker build "${arguments[@]}" . ;;
esac
echo "$name was built with $builder from $binary ($target, $((size >> 10)) KiB)"
