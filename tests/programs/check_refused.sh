#!/usr/bin/env bash
# A library that was built for another PETSc must be refused in words, not crash. Usage: check_refused.sh PROGRAM LIBRARY
set -uo pipefail

printed=$("$1" -dll_append "$2" -pc_type mcpi 2>&1) && { echo "$1 ran with $2"; exit 1; }
grep -m1 "libpetscmcpi.so was built for" <<<"$printed" && exit
printf '%s\n' "$printed"
echo "$1 ended with $2, but not by the library's own message"
exit 1
