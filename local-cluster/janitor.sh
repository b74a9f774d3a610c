#!/bin/sh
# usage: janitor.sh DIRECTORY COMMAND [ARGUMENT...]
#
# Runs the supervisor of one cluster and cleans up when it has ended, however it ended: removes the cluster's folder
# and the control groups of the same name. It stands outside of a node's namespaces, so when their first process has
# ended the kernel has ended all the others, and taken the mounts and the network along.
directory=$1
shift
name=${directory##*/}
trap : HUP INT TERM

"$@" &
pid=$!
echo "$pid" > "$directory/supervisor.pid"
while kill -0 "$pid" 2> /dev/null; do
  wait "$pid"
done

# Written only where programs do not die with the supervisor by themselves.
if [ -f "$directory/children" ]; then
  xargs kill -KILL < "$directory/children" 2> /dev/null
fi

# The command that ran with the cluster, and whatever it started, ends with it, even if it was put into the background or
# its parent was killed. These processes are known by their environment (Linux).
for signal in TERM KILL; do
  orphans=$(grep -lzxF "ATWATCH_CLUSTER=$directory" /proc/[0-9]*/environ 2> /dev/null | cut -d / -f 3)
  [ -n "$orphans" ] || break
  # shellcheck disable=SC2086 # one word for each process
  kill "-$signal" $orphans 2> /dev/null
  sleep 1
done

# Killed processes may take a moment to let go of a file or a group, on a busy machine many.
tries=150
while [ "$tries" -gt 0 ]; do
  tries=$((tries - 1))
  left=
  for group in "/sys/fs/cgroup/$name" /sys/fs/cgroup/*/"$name"; do
    [ -d "$group" ] || continue
    find "$group" -depth -type d -exec rmdir {} + 2> /dev/null || left=$group
  done
  rm -rf "$directory" 2> /dev/null || left=$directory
  [ -n "$left" ] || exit 0
  sleep 0.2
done
echo "janitor: could not remove $left" >&2
