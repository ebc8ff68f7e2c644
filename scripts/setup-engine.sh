# Engine: the best available Valkey, copied into .venv/bin, where Shardboard looks first. Sourced by scripts/setup.

# The first release with all required fixes of 9.1. An installed engine of this version or newer is used as it is.
best_valkey=9.1.2
engine_programs=(valkey-server valkey-cli valkey-benchmark)
# Outside the checkout, so that other checkouts, or this one after `make clean`, can reuse the built engine.
engine_cache=${XDG_CACHE_HOME:-$HOME/.cache}/shardboard/engine

# version_of PROGRAM: print the Valkey version of a program, or nothing if it cannot be run.
version_of() {
  "$1" --version 2>/dev/null | grep -o '\(v=\| \)[0-9][0-9.]*' | head -n 1 | tr -d 'v= ' || true
}

# on_system PROGRAM: print the path of the program installed on this machine, ignoring copies in .venv/bin.
on_system() {
  PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -vFx "$PWD/.venv/bin" | paste -sd :) command -v "$1"
}

# system_valkey MINIMUM: whether all programs are installed and the server has at least that version.
system_valkey() {
  local program server version
  for program in "${engine_programs[@]}"; do on_system "$program" >/dev/null || return 1; done
  server=$(on_system valkey-server)
  version=$(version_of "$server")
  [[ -n $version ]] && at_least "$version" "$1"
}

# built_engine MINIMUM: print the directory of the newest built engine, if it runs and has at least that version.
built_engine() {
  local folder version
  while read -r folder; do
    version=$(version_of "$folder/valkey-server")
    if [[ -n $version ]] && at_least "$version" "$1"; then
      echo "$folder"
      return
    fi
  done < <(printf '%s\n' "$engine_cache"/[0-9]*/bin | sort --version-sort --reverse)
  return 1
}

# can_build_engine: whether Debian's source package can be downloaded and compiled here.
can_build_engine() {
  [[ ${SHARDBOARD_BUILD_ENGINE:-yes} == yes && $(. /etc/os-release 2>/dev/null && echo "${ID:-}") == debian ]] &&
    command -v apt-get >/dev/null
}

# engine_packages: print the missing packages that a build needs.
engine_packages() {
  command -v cc >/dev/null || printf '%s\n' gcc libc6-dev
  command -v make >/dev/null || echo make
  command -v pkg-config >/dev/null || echo pkg-config
  [[ -e /usr/include/openssl/ssl.h ]] || echo libssl-dev
}

# copy_engine DIRECTORY: copy the programs into .venv/bin, unless they are there. Copies, because the cache of root is in /root, from
# which the system user of an agent cannot run them.
copy_engine() {
  local program
  for program in "${engine_programs[@]}"; do
    if [[ -L .venv/bin/$program ]] || ! cmp --quiet "$1/$program" ".venv/bin/$program"; then
      install --mode 755 "$1/$program" .venv/bin/
    fi
  done
}

remove_engine() {
  rm -f "${engine_programs[@]/#/.venv/bin/}"
}

# failed_lately: whether a build failed within the last day, so that it is not repeated at every start.
failed_lately() {
  [[ -n $(find "$engine_cache/failed" -mtime -1 2>/dev/null) ]]
}

# wants_build: whether set_up_engine will build the engine.
wants_build() {
  ! system_valkey "$best_valkey" && ! built_engine "$best_valkey" >/dev/null && can_build_engine && ! failed_lately
}

# set_up_engine: use the installed engine if new enough, otherwise a built one, otherwise build one, otherwise the distribution's.
set_up_engine() {
  local folder
  if system_valkey "$best_valkey"; then
    remove_engine
    return
  fi
  if wants_build; then
    mkdir -p "$engine_cache"
    if try_step "Building Valkey from Debian's sources" again scripts/build-engine "$engine_cache"; then
      rm -f "$engine_cache/failed"
    else
      touch "$engine_cache/failed"
      echo "Continuing with the available Valkey. The build is retried after a day."
    fi
  fi
  # An older built engine is better than the distribution's.
  if folder=$(built_engine 0); then
    copy_engine "$folder"
    return
  fi
  remove_engine
  system_valkey "$oldest_valkey" || install_packages valkey-server valkey-tools
}
