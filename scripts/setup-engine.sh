# The engine: the best Valkey there is, linked into .venv/bin, where Shardboard looks first. Sourced by scripts/setup.

# With what was mended of 9.1 since: the first one that is taken as it is.
best_valkey=9.1.2
engine_programs=(valkey-server valkey-cli valkey-benchmark)
# Outside the checkout: a second checkout, or this one after `make clean`, finds it built.
engine_cache=${XDG_CACHE_HOME:-$HOME/.cache}/shardboard/engine

# version_of PROGRAM: the Valkey version it says, empty when it cannot be run.
version_of() {
  "$1" --version 2>/dev/null | grep -o '\(v=\| \)[0-9][0-9.]*' | head -n 1 | tr -d 'v= ' || true
}

# on_system PROGRAM: the one that was installed on this machine, whatever we linked.
on_system() {
  PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -vFx "$PWD/.venv/bin" | paste -sd :) command -v "$1"
}

# system_valkey MINIMUM: whether all its programs are installed, the server in that version at least.
system_valkey() {
  local program server version
  for program in "${engine_programs[@]}"; do on_system "$program" >/dev/null || return 1; done
  server=$(on_system valkey-server)
  version=$(version_of "$server")
  [[ -n $version ]] && at_least "$version" "$1"
}

# built_engine MINIMUM: the folder of the newest engine that was built, if it runs and is of that version at least.
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

# can_build_engine: whether Debian's source package can be had and compiled here.
can_build_engine() {
  [[ ${SHARDBOARD_BUILD_ENGINE:-yes} == yes && $(. /etc/os-release 2>/dev/null && echo "${ID:-}") == debian ]] &&
    command -v apt-get >/dev/null
}

# engine_packages: what is missing of what building takes.
engine_packages() {
  command -v cc >/dev/null || printf '%s\n' gcc libc6-dev
  command -v make >/dev/null || echo make
  command -v pkg-config >/dev/null || echo pkg-config
  [[ -e /usr/include/openssl/ssl.h ]] || echo libssl-dev
}

link_engine() {
  local program
  for program in "${engine_programs[@]}"; do ln --symbolic --force --no-target-directory "$1/$program" ".venv/bin/$program"; done
}

unlink_engine() {
  local program
  for program in "${engine_programs[@]}"; do
    if [[ -L .venv/bin/$program ]]; then rm ".venv/bin/$program"; fi
  done
}

# failed_lately: whether building was tried today, in vain: a machine that cannot is not asked at every start.
failed_lately() {
  [[ -n $(find "$engine_cache/failed" -mtime -1 2>/dev/null) ]]
}

# wants_build: whether set_up_engine is going to build.
wants_build() {
  ! system_valkey "$best_valkey" && ! built_engine "$best_valkey" >/dev/null && can_build_engine && ! failed_lately
}

# set_up_engine: installed and new enough, else built before, else built now, else what the distribution has.
set_up_engine() {
  local folder
  if system_valkey "$best_valkey"; then
    unlink_engine
    return
  fi
  if wants_build; then
    mkdir -p "$engine_cache"
    if try_step "Building Valkey from Debian's sources" again scripts/build-engine "$engine_cache"; then
      rm -f "$engine_cache/failed"
    else
      touch "$engine_cache/failed"
      echo "Going on with the Valkey there is; building is tried again in a day."
    fi
  fi
  # An older one is better than the distribution's.
  if folder=$(built_engine 0); then
    if [[ $(readlink .venv/bin/valkey-server || true) != "$folder/valkey-server" ]]; then link_engine "$folder"; fi
    return
  fi
  unlink_engine
  system_valkey "$oldest_valkey" || install_packages valkey-server valkey-tools
}
