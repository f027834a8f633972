# shellcheck shell=bash
# Sourced by tools: what they print.

# The comment at the head of the tool
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]%/*}/${0##*/}"; }

# Refuses the command line. $*: why
wrong() {
  printf 'tools/%s: %s\n\n' "${0##*/}" "$*" >&2
  usage >&2
  exit 2
}

# Refuses an option without a value. $1: the option, $2: the words from there on, $3: the next one
need_value() { [ "$2" -gt 1 ] && [[ $3 != --* ]] || wrong "$1 needs a value"; }

# Stops if a program is missing. $1: group of tools/install-dependencies, the rest: programs
need_programs() {
  local group=$1 program
  shift
  for program in "$@"; do
    command -v "$program" >/dev/null && continue
    echo "tools/${0##*/} needs $program: run tools/install-dependencies $group" >&2
    exit 1
  done
}

say() {
  if [ -t 1 ]; then printf '\033[1m== %s\033[0m\n' "$*"; else printf '== %s\n' "$*"; fi
}

# Lines "PERCENT TEXT" from the standard input as one moving line; where the output is no terminal,
# as a line every 20 percent. $1: what goes on
show_progress() {
  local what=$1 begin=$SECONDS percent text shown=-1 line columns
  columns=$(tput cols 2>/dev/null || echo 80)
  while read -r percent text; do
    percent=${percent%%[.,]*}
    [[ $percent =~ ^[0-9]+$ ]] || continue
    if [ -t 1 ]; then
      line="$what: $percent %, $((SECONDS - begin)) s  $text"
      printf '\r\033[K%s' "${line:0:columns-1}"
    elif [ "$((percent / 20))" != "$shown" ]; then
      shown=$((percent / 20))
      echo "$what: $percent %  $text"
    fi
  done
  if [ -t 1 ]; then printf '\r\033[K'; fi
  echo "$what: ended after $((SECONDS - begin)) s"
}
