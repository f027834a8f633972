# Sourced by tools: what they print while something long runs.

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
