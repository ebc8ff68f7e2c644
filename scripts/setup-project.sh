# Contents of the checkout: Python environment, npm packages, the built web UI, proxy, load generator and mover. Sourced by scripts/setup.

# Registries fail temporarily: repeat each request, unless the environment sets the number of retries.
export PIP_RETRIES=${PIP_RETRIES:-10} CARGO_NET_RETRY=${CARGO_NET_RETRY:-10}
export npm_config_fetch_retries=${npm_config_fetch_retries:-5}

# With NODE_ENV=production, npm would leave out the tools that build the web UI, and with another value vite would build it for debugging.
unset NODE_ENV

# again COMMAND... : retry up to two times, because not all of these tools repeat an interrupted download.
again() {
  local pause
  for pause in 5 20; do
    if "$@"; then return 0; fi
    echo "Command failed; retrying in $pause s: $*" >&2
    sleep "$pause"
  done
  "$@"
}

# hash_of FILE... : print one hash of the named files that exist.
hash_of() {
  { cat -- "$@" 2>/dev/null || true; } | sha256sum | cut -d ' ' -f 1
}

# is_current STAMP HASH
is_current() {
  [[ -f $1 && $(<"$1") == "$2" ]]
}

# set_up_python TESTS(yes|no): create .venv with the locked packages and the project in editable mode.
set_up_python() {
  local run dev
  run=$(hash_of pyproject.toml requirements.lock)
  dev=$(hash_of pyproject.toml requirements-dev.lock)
  # The development lock contains all packages of the runtime lock in the same versions.
  if is_current .venv/stamp-dev "$dev"; then return 0; fi
  if [[ $1 == no ]] && is_current .venv/stamp-run "$run"; then return 0; fi

  if [[ ! -x .venv/bin/python ]]; then
    find_python
    step "Creating the Python environment" "$python" -m venv .venv
  fi
  if [[ $1 == yes ]]; then
    step "Installing Python packages" install_python requirements-dev.lock
    printf '%s' "$dev" >.venv/stamp-dev
  else
    step "Installing Python packages" install_python requirements.lock
  fi
  printf '%s' "$run" >.venv/stamp-run
}

# install_python LOCK: install with uv, which takes six seconds instead of more than twenty with pip. Use pip if uv is not
# available, or if only pip is configured for the registry. Compile to bytecode as pip does; otherwise each process would start a
# second later where it cannot store bytecode.
install_python() {
  local pip=(.venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check)
  if ! { install_uv "$1" && .venv/bin/uv pip install --quiet --compile-bytecode --python .venv/bin/python --require-hashes \
    --requirement "$1"; }; then
    again "${pip[@]}" --require-hashes --requirement "$1" || return
  fi
  "${pip[@]}" --no-deps --no-build-isolation --editable .
}

# install_uv LOCK: install the locked uv, if there is a build for this machine.
install_uv() {
  local only
  only=$(mktemp)
  sed -n '/^uv==/,/[^\\]$/p' "$1" >"$only"
  local status=0
  "${pip[@]}" --only-binary :all: --require-hashes --requirement "$only" || status=$?
  rm -f "$only"
  return "$status"
}

set_up_node() {
  local hash
  hash=$(hash_of package.json frontend/package.json e2e/package.json engine/testkit/chaos/clients/package.json package-lock.json)
  # An installation without the build tools, for example by a plain `npm ci` in production mode, is repeated.
  if [[ -x node_modules/.bin/vite ]] && is_current node_modules/stamp-npm "$hash"; then return 0; fi
  require_node
  # No package needs its install script, so none may run.
  step "Installing npm packages" again npm ci --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error
  printf '%s' "$hash" >node_modules/stamp-npm
}

page_sources() {
  find frontend package-lock.json -name node_modules -prune -o -path frontend/dist -prune -o -type f -print | sort
}

build_page() {
  local hash sources
  mapfile -t sources < <(page_sources)
  hash=$(hash_of "${sources[@]}")
  if [[ -f frontend/dist/index.html ]] && is_current node_modules/stamp-page "$hash"; then return 0; fi
  require_node
  step "Building the web UI" npm run build --silent
  printf '%s' "$hash" >node_modules/stamp-page
}

proxy_sources() {
  printf '%s\n' engine/Cargo.toml engine/Cargo.lock
  find engine/proxy engine/load engine/mover engine/net engine/resp engine/tier -path '*/tests' -prune -o -type f -print | sort
}

build_proxy() {
  local hash sources
  mapfile -t sources < <(proxy_sources)
  hash=$(hash_of "${sources[@]}")
  if [[ -x engine/target/release/shardboard-proxy && -x engine/target/release/shardboard-load \
    && -x engine/target/release/shardboard-mover && -f engine/target/release/libshardboard_tier.so ]] && is_current engine/target/stamp-proxy "$hash"; then return 0; fi
  require_rust
  if [[ $tests == yes ]]; then take_crates; fi
  step "Building the endpoint proxy, the load generator, the mover and the flash module" \
    cargo build --manifest-path engine/Cargo.toml --target-dir engine/target --release --locked \
    --package proxy --package load --package mover --package tier
  printf '%s' "$hash" >engine/target/stamp-proxy
}

# Most of a clean build is spent on third-party crates, for the programs, their tests and the linter. They are compiled once for
# many checkouts: scripts/keep-crates stores them at the end of `make test`.
# Our own crates are never taken from the cache: cargo only compares timestamps, and the files of another checkout can be older than
# the build.
crates_cache=${XDG_CACHE_HOME:-$HOME/.cache}/shardboard/crates
crates_parts=(deps build .fingerprint)

# crates_key: print the name of the cache entry for the current lock file and compiler.
crates_key() {
  { cat engine/Cargo.lock engine/Cargo.toml && rustc --version --verbose && echo "${RUSTFLAGS:-}"; } | sha256sum | cut -c 1-32
}

take_crates() {
  local kept
  kept=$crates_cache/$(crates_key)
  if [[ -e engine/target/release || ! -d $kept ]]; then return 0; fi
  mkdir -p engine/target
  # Atomic, even if this is interrupted.
  rm -rf engine/target/taken
  if cp --archive "$kept" engine/target/taken; then mv engine/target/taken engine/target/release; fi
}

keep_crates() {
  local key made manifest name print
  key=$(crates_key)
  if [[ -d $crates_cache/$key ]]; then return 0; fi
  mkdir -p "$crates_cache" || return 0
  made=$(mktemp --directory "$crates_cache/made.XXXXXX") || return 0
  if cp --archive "${crates_parts[@]/#/engine/target/release/}" "$made"; then
    # Remove our own crates: without its fingerprint a crate is built again. Packages have the names of their directories.
    for manifest in engine/*/Cargo.toml; do
      name=$(basename "$(dirname "$manifest")")
      for print in "$made/.fingerprint/$name"-*; do rm -rf "$print" "$made/deps/"*"${print##*/"$name"}"*; done
    done
    find "$crates_cache" -mindepth 1 -maxdepth 1 ! -path "$made" -exec rm -rf {} +
    mv --no-target-directory "$made" "$crates_cache/$key" || rm -rf "$made"
  else
    rm -rf "$made"
  fi
}
