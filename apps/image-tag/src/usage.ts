/** What `--help` prints. */
export const usage = `Usage: image-tag [checkout] [options]

Names a container image and a CI cache entry for a git checkout (default: the one around the current directory), by a
hash of what decides their contents. Prints two lines to stdout, fit for $GITHUB_OUTPUT or a dotenv file:

  image=<prefix>-<hash>:sha-<commit>     another commit, another tag; another input below, another hash
  cache_key=<last part of prefix>-<hash>   the same for every commit whose inputs below are equal

What decides the hash
  --url <https URL>     the repository; default: the URL of the remote origin, or of the only one
  --setup <command>     a command the image is built with; repeatable, in order
  --env <NAME>          the value that variable has in the environment; repeatable
  --env <NAME>=@<version>   a version in place of the value: for tokens that rotate. The variable need not be set
  --base <image>        the image that is built on, such as node:24-bookworm or name@sha256:...
  --file <path>         a file whose contents count, relative to the top of the checkout; repeatable.
                        Default: every lockfile found
  --extra <key>=<text>  anything else that counts, such as os=linux; repeatable
  --cpu <n>, --memory <MiB>   machine size; default 2 and 1024
  --workdir <path>      directory of the checkout in the image; default /home/user/<repository>
  --submodules, --lfs   the image holds them; with --submodules the lockfiles in them count too
  --salt-env <NAME>     the variable that holds a salt, which keeps values from being guessed by the hash

What does not
  --prefix <name>       what stands before the hash, a registry included; default: the repository's name

Output
  --json                one JSON object instead of the two lines
  --record <file>       also write the inputs to a file, without the values of variables and the salt
  --against <path>      say why the image is another one than that of a second checkout (named by the same options), or
                        than the one a record was made of; to stderr, or into the JSON
  --help, --version

Warnings go to stderr. A checkout with changes gets a tag of its own, sha-<commit>-dirty-<digest of the changes>.

An option that takes one text is given once; a text that starts with a dash is written --option=<text>.

Exit codes: 0 named, and the same as --against; 1 named, but not the same; 2 nothing printed: wrong use, a checkout that
has no name, or a record that cannot be read or written.
`
