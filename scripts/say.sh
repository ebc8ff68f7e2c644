# Output of the setup: one progress line for each step that takes longer than a second. Sourced by the other scripts.

step_pid=
trap 'test -z "$step_pid" || kill "$step_pid" 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# die LINE... : print a message and exit.
die() {
  printf '%s\n' "$@" >&2
  exit 1
}

# step TITLE COMMAND... : run the command quietly. If it fails, print the end of its output and exit.
step() {
  try_step "$@" || exit
}

# try_step TITLE COMMAND... : the same, but return its exit code instead of exiting.
try_step() {
  local title=$1 began=$SECONDS shown=0 log status=0
  shift
  log=$(mktemp)
  # Run in the background to count the seconds. Background jobs ignore Ctrl-C, hence the traps above.
  "$@" >"$log" 2>&1 </dev/null &
  step_pid=$!
  while kill -0 "$step_pid" 2>/dev/null; do
    if ((SECONDS - began > shown)); then
      shown=$((SECONDS - began))
      show_progress "$title" "$shown"
    fi
    sleep 0.1
  done
  wait "$step_pid" || status=$?
  step_pid=
  if ((status != 0)); then
    printf '\n%s: failed (exit code %s). Last lines of its output:\n' "$title" "$status" >&2
    tail -n 40 "$log" | sed 's/^/    /' >&2
    rm -f "$log"
    return "$status"
  fi
  rm -f "$log"
  if ((shown > 0)); then
    if [[ -t 1 ]]; then printf '\r'; fi
    printf '%s: done in %s s\n' "$title" "$((SECONDS - began))"
  fi
}

# On a terminal, one line that counts up; in a log, a line at the start and every ten seconds.
show_progress() {
  if [[ -t 1 ]]; then
    printf '\r%s … %s s ' "$1" "$2"
  elif (($2 == 1 || $2 % 10 == 0)); then
    printf '%s … %s s\n' "$1" "$2"
  fi
}
