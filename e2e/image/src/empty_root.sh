# Runs a program as a container of the image does: as user 65532, in a read-only root file system that has the program, the named
# files and the sources of random numbers only. It is run in a user namespace and a mount namespace of its own, so that it needs no
# privileges and leaves nothing behind.
#
#   sh -euc SCRIPT empty-root FOLDER PROGRAM FILE... -- ARGUMENT...
folder=$1 program=$2
shift 2

# place FILE PATH: a file, or a folder with all that is in it, at this path of the new root.
place() {
  mkdir -p "$folder${2%/*}"
  if [ -d "$1" ]; then mkdir -p "$folder$2"; else : >"$folder$2"; fi
  mount --bind "$1" "$folder$2"
}

mount -t tmpfs -o mode=0755 empty-root "$folder"
place "$program" /berth
# Every container runtime provides them; a program with the C library of this machine reads them.
place /dev/random /dev/random
place /dev/urandom /dev/urandom
while [ "$1" != -- ]; do
  place "$1" "$1"
  shift
done
shift
mount -o remount,ro "$folder"
exec unshare --user --map-user=65532 --map-group=65532 --root="$folder" --wd=/ /berth "$@"
