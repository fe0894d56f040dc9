#!/usr/bin/env bash
# Sees to the tools that this project needs.
#
#   hack/setup.sh check         say what is missing for every build, and how to get it
#   hack/setup.sh check-tests   the same for all tests
#   hack/setup.sh install       install what Debian has, then say what else is missing
#   hack/setup.sh cargo-deny    install cargo-deny, once for each version
#   hack/setup.sh where-cargo-deny    say where it is then
#   hack/setup.sh cargo-auditable, where-cargo-auditable    the same for cargo-auditable
#   hack/setup.sh cargo-cyclonedx, where-cargo-cyclonedx    the same for cargo-cyclonedx
#   hack/setup.sh musl          try to get what static programs with musl need; without it they have the C library of this machine
#   hack/setup.sh has-musl      end with 0 if it is there
#
# Rust and Go are never installed: Debian's are too old, and how to get them is the user's choice.
set -euo pipefail
cd "$(dirname "$0")/.."

# Read from where they are declared, so that a newer requirement needs no change here.
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
go_needed=$(sed -n 's/^go \(.*\)$/\1/p' e2e/control-plane/go/go.mod)

# Checks licences, sources and bans for `make lint`. Built without optimisation, in two minutes; a check takes two seconds.
cargo_deny_version=0.19.0
cargo_deny_folder=${XDG_CACHE_HOME:-$HOME/.cache}/berth/cargo-deny-$cargo_deny_version

# Writes the list of packages into static programs. Built without optimisation, in 18 s.
cargo_auditable_version=0.7.7
cargo_auditable_folder=${XDG_CACHE_HOME:-$HOME/.cache}/berth/cargo-auditable-$cargo_auditable_version

# Writes bills of materials for `make sbom`. Built without optimisation, in 75 s.
cargo_cyclonedx_version=0.5.9
cargo_cyclonedx_folder=${XDG_CACHE_HOME:-$HOME/.cache}/berth/cargo-cyclonedx-$cargo_cyclonedx_version

missing=()

# A C compiler links every crate and builds some; setpriv ends etcd and kube-apiserver together with their parent.
tools=(cc setpriv)
declare -A package=([cc]=build-essential [setpriv]=util-linux)

have() { command -v "$1" >/dev/null 2>&1; }

# Placement's own tests are written in Python; Debian has what makes their environment in a package of its own.
have_python() { python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Debian keeps the programs of PostgreSQL apart by version, off the PATH.
have_postgres() { have initdb || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null; }

# at_least FOUND NEEDED: compares versions such as 1.95.0 and 1.89.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    echo "setup: this needs root, and there is no sudo; run as root: $*" >&2
    return 1
  fi
}

check_rust() {
  local how="get it with rustup: https://rustup.rs (Debian's is too old)"
  if ! have cargo || ! have rustc; then
    missing+=("Rust $rust_needed or newer: $how")
    return
  fi
  local found
  found=$(rustc --version | awk '{ print $2 }')
  at_least "${found%%-*}" "$rust_needed" || missing+=("Rust $rust_needed or newer, found $found: rustup update, or $how")
}

# rustup has a stand-in for each component, so only running it tells whether it is there.
have_component() { cargo "$1" --version >/dev/null 2>&1; }

check_rust_components() {
  have_component fmt || missing+=("rustfmt, for \`make lint\`: rustup component add rustfmt")
  have_component clippy || missing+=("clippy, for \`make lint\`: rustup component add clippy")
}

check_tools() {
  local tool
  for tool in "${tools[@]}"; do
    have "$tool" || missing+=("$tool: apt-get install ${package[$tool]}, or \`make setup\`")
  done
}

check_tools_of_tests() {
  have_python || missing+=("python3 with venv, for tests: apt-get install python3-venv, or \`make setup\`")
  have_postgres || missing+=("PostgreSQL, for tests: apt-get install postgresql, or \`make setup\`")
  have openssl || missing+=("openssl, for certificates of tests: apt-get install openssl, or \`make setup\`")
}

# Go is needed once, to build kube-apiserver, etcd and kubectl; whatever starts them says so, too.
have_control_plane() {
  [ -n "${KUBEBUILDER_ASSETS:-}" ] && return
  have kube-apiserver && have etcd && have kubectl && return
  compgen -G "${XDG_CACHE_HOME:-$HOME/.cache}/berth/control-plane/v*/kube-apiserver" >/dev/null
}

check_go() {
  have_control_plane && return
  local how="get it at https://go.dev/dl (Debian's is too old), or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl"
  if ! have go; then
    missing+=("Go $go_needed or newer: $how")
    return
  fi
  local found
  # Asked in the module's folder, where Go may fetch the version that the module wants.
  found=$(cd e2e/control-plane/go && go env GOVERSION 2>/dev/null || echo unknown)
  at_least "${found#go}" "$go_needed" || missing+=("Go $go_needed or newer, found $found: $how")
}

install_packages() {
  local tool packages=()
  for tool in "${tools[@]}"; do
    have "$tool" || packages+=("${package[$tool]}")
  done
  have_python || packages+=(python3-venv)
  have_postgres || packages+=(postgresql)
  have openssl || packages+=(openssl)
  # Cargo and Go check the certificates of the servers they fetch from.
  [ -e /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
  if [ ${#packages[@]} = 0 ]; then
    echo "setup: all Debian packages are there"
  elif have apt-get; then
    echo "setup: installing ${packages[*]}"
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
  else
    echo "setup: this is no Debian; install yourself what these packages hold: ${packages[*]}" >&2
  fi
}

# install_tool NAME VERSION FOLDER
install_tool() {
  [ -x "$3/bin/$1" ] && return
  echo "setup: building $1 $2"
  cargo install --locked --debug --version "$2" --root "$3" "$1"
}

musl_target=$(uname -m)-unknown-linux-musl

has_musl_of_rust() { [ -d "$(rustc --print sysroot)/lib/rustlib/$musl_target/lib" ]; }

# Rust's part comes from servers that a machine may not reach.
install_musl() {
  if ! has_musl_of_rust && have rustup; then
    timeout 120 rustup target add "$musl_target" || echo "setup: the target $musl_target cannot be had here"
  fi
  if has_musl_of_rust && ! have musl-gcc && have apt-get; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends musl-tools ||
      { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends musl-tools; } ||
      echo "setup: musl-tools cannot be installed"
  fi
}

install_rust_components() {
  have rustup || return 0
  { have_component fmt && have_component clippy; } || rustup component add rustfmt clippy
}

report() {
  [ ${#missing[@]} = 0 ] && return
  echo "Missing on this machine:" >&2
  printf '  * %s\n' "${missing[@]}" >&2
  return 1
}

case "${1:-}" in
  check)
    check_rust
    check_tools
    ;;
  check-tests)
    check_rust
    check_tools
    check_tools_of_tests
    ;;
  install)
    install_packages
    install_rust_components
    install_musl
    check_rust
    check_rust_components
    check_tools
    check_tools_of_tests
    check_go
    ;;
  cargo-deny)
    install_tool cargo-deny "$cargo_deny_version" "$cargo_deny_folder"
    ;;
  where-cargo-deny)
    echo "$cargo_deny_folder/bin/cargo-deny"
    ;;
  cargo-auditable)
    install_tool cargo-auditable "$cargo_auditable_version" "$cargo_auditable_folder"
    ;;
  where-cargo-auditable)
    echo "$cargo_auditable_folder/bin/cargo-auditable"
    ;;
  cargo-cyclonedx)
    install_tool cargo-cyclonedx "$cargo_cyclonedx_version" "$cargo_cyclonedx_folder"
    ;;
  where-cargo-cyclonedx)
    echo "$cargo_cyclonedx_folder/bin/cargo-cyclonedx"
    ;;
  musl)
    install_musl
    ;;
  has-musl)
    has_musl_of_rust && have musl-gcc
    ;;
  *)
    echo "usage:" >&2
    sed -n "s/^#   hack/  hack/p" hack/setup.sh >&2
    exit 2
    ;;
esac
report
