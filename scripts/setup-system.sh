# Dependencies on the operating system: Python, Node, Rust, a C compiler, Valkey or its build dependencies, and for the tests
# Chromium, PostgreSQL, OpenLDAP, nginx and HAProxy. Sourced by scripts/setup.

oldest_python=3.11
oldest_node=20.19.0
oldest_rust=1.85.0
oldest_valkey=8.0.0
oldest_postgres=14

# at_least VERSION MINIMUM
at_least() {
  [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

# find_python: set $python to the first interpreter that is new enough. The distribution's interpreter is preferred: it is built
# with optimizations, unlike most from version managers (a third less CPU time for the tests).
find_python() {
  local candidate distribution=/usr/bin/python3
  "$distribution" -c 'import ensurepip, venv' 2>/dev/null || distribution=
  for candidate in "${PYTHON:-}" "$distribution" python3 python3.14 python3.13 python3.12 python3.11; do
    [[ -n $candidate ]] && command -v "$candidate" >/dev/null || continue
    if "$candidate" -c "import sys; sys.exit(sys.version_info < (${oldest_python/./, }))" 2>/dev/null; then
      python=$candidate
      return
    fi
  done
  die "Python >= $oldest_python is required and was not found." \
    "Debian 12 and later: apt-get install python3 python3-venv. Other systems: set PYTHON to its path."
}

require_node() {
  local hint="Node.js >= ${oldest_node%.0} with npm is required; see https://nodejs.org for installation instructions."
  command -v node >/dev/null || die "node was not found on PATH." "$hint"
  command -v npm >/dev/null || die "npm was not found on PATH." "$hint"
  local version
  version=$(node --version)
  at_least "${version#v}" "$oldest_node" || die "node on PATH is ${version#v}." "$hint"
}

# require_rust: cargo and rustc for the proxy, and the C compiler that two of its dependencies need.
require_rust() {
  local hint="Rust >= ${oldest_rust%.0} with cargo is required to build the endpoint proxy."
  hint+=" Debian 13: apt-get install cargo. Debian 12 and other systems: https://rustup.rs."
  local tool said version
  for tool in cargo rustc; do
    command -v "$tool" >/dev/null || die "$tool was not found on PATH." "$hint"
    # rustup puts its programs on PATH even if no toolchain is installed.
    said=$("$tool" --version 2>&1) || die "$(command -v "$tool") cannot run: ${said%%$'\n'*}" "$hint"
    version=$(cut -d ' ' -f 2 <<<"$said")
    at_least "${version%%-*}" "$oldest_rust" || die "$tool on PATH is $version." "$hint"
  done
  command -v cc >/dev/null || die "cc, a C compiler, was not found on PATH. It is required to build the endpoint proxy." \
    "Debian: apt-get install gcc libc6-dev."
}

has_postgres() {
  local initdb directory
  for initdb in /usr/lib/postgresql/*/bin/initdb; do
    directory=${initdb%/bin/initdb}
    if [[ -x $initdb ]] && at_least "${directory##*/}" "$oldest_postgres"; then return 0; fi
  done
  initdb=$(command -v initdb) && at_least "$("$initdb" --version | grep -o '[0-9.]*' | head -n 1)" "$oldest_postgres"
}

# require_system_packages TESTS(yes|no) POSTGRES(yes|no): install missing packages, or print the command that does.
require_system_packages() {
  local missing=()
  if wants_build; then
    mapfile -t missing < <(engine_packages)
  elif ! built_engine 0 >/dev/null && ! system_valkey "$oldest_valkey"; then
    missing+=(valkey-server valkey-tools)
  fi
  if [[ $1 == yes || $2 == yes ]]; then has_postgres || missing+=(postgresql); fi
  if [[ $1 == yes ]]; then
    # The tests also use the distribution's engine.
    if [[ ${missing[*]} != *valkey-server* ]]; then system_valkey "$oldest_valkey" || missing+=(valkey-server valkey-tools); fi
    command -v chromium >/dev/null || missing+=(chromium)
    command -v nft >/dev/null || [[ -x /usr/sbin/nft ]] || missing+=(nftables)
    command -v slapd >/dev/null || [[ -x /usr/sbin/slapd ]] || missing+=(slapd)
    command -v ldapsearch >/dev/null || missing+=(ldap-utils)
    command -v nginx >/dev/null || [[ -x /usr/sbin/nginx ]] || missing+=(nginx)
    command -v haproxy >/dev/null || [[ -x /usr/sbin/haproxy ]] || missing+=(haproxy)
    command -v age >/dev/null || missing+=(age)
    command -v zstd >/dev/null || missing+=(zstd)
  fi
  if [[ ! -x .venv/bin/python ]]; then
    find_python
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  fi
  if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi
}

# install_packages NAME... : install with apt, or print the command that does.
install_packages() {
  command -v apt-get >/dev/null || die "Missing: $*." \
    "This is not a Debian system: install them (Valkey >= ${oldest_valkey%.0}) and run this command again."
  local install=("$PWD/scripts/install-debian-packages" "$@")
  if ((EUID == 0)); then
    step "Installing $*" "${install[@]}"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    step "Installing $*" sudo -n "${install[@]}"
  else
    die "Missing: $*. Installing them requires root privileges. Run this command, then repeat the previous one:" "" \
      "    sudo ${install[*]}" ""
  fi
}
