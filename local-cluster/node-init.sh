#!/bin/sh
# usage: node-init.sh DIRECTORY COMMAND [ARGUMENT...]
#
# The first process of a node's namespaces (processes, mounts, network): makes them fit for a kubelet without changing
# anything of the machine, runs the supervisor, and buries orphans meanwhile. When it ends, all that runs in the
# namespaces ends, and their mounts and network interfaces are gone.
set -eu
directory=$1
shift

# Volumes with mount propagation need a shared root; shared among ourselves, not with the machine.
mount --make-rshared /

# Kubelet, containerd and CNI write to fixed places: let them write to a copy that is in memory.
mkdir "$directory/private"
mount -t tmpfs -o mode=0755 atwatch "$directory/private"
for folder in /run /var/lib /var/log; do
  copy=$directory/private$folder
  mkdir -p "$copy/upper" "$copy/work"
  mount -t overlay -o "lowerdir=$folder,upperdir=$copy/upper,workdir=$copy/work" atwatch "$folder"
done

# Kubelet sets these kernel parameters unless they have its values already: show it these values.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=$directory/private/$(echo "${setting%=*}" | tr / .)
  echo "${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done

# These two belong to the network namespace.
echo 1 > /proc/sys/net/ipv4/ip_forward
ip link set lo up

"$@" &
wait "$!"
