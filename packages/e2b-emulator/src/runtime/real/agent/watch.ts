import type { Failures } from './accounts.ts'
import type { ServedCall, WatchEventType } from './contract.ts'

export interface Watching {
  /**
   * Resolves once changes are noticed. Throws `not-directory`, `unsupported` where the machine has no perl, and what
   * the system refuses with. A watch that ends by itself fails the call.
   */
  watch(path: string, recursive: boolean, call: ServedCall): Promise<null>
}

/**
 * Directory watching as the platform does it: what the kernel's inotify tells, in its order. Node passes on only that a
 * name changed, not how; perl, which is on every Debian, makes the system calls and reads the notices.
 */
export function createWatching(failures: Failures): Watching {
  const fs = process.getBuiltinModule('node:fs')
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { constants } = process.getBuiltinModule('node:os')
  /** Numbers of inotify_init1, inotify_add_watch and inotify_rm_watch. */
  const numbersFor: Readonly<Record<string, readonly number[]>> = { x64: [294, 254, 255], arm64: [26, 27, 28] }
  const numbers = numbersFor[process.arch]

  /**
   * Prints `ready`, then a line for each change: what happened, and to which name in hexadecimal. A directory that comes
   * into a recursive watch tells what it holds already, for which no notice will come; one that comes for it all the
   * same, as it was made just then, is passed over. `lost` ends it: the kernel's queue was full.
   */
  const observer = `
use strict;
$| = 1;
my ($init, $add, $remove, $recursive, $top) = @ARGV;
my ($MODIFY, $ATTRIB, $MOVED_FROM, $MOVED_TO, $CREATE, $DELETE) = (0x2, 0x4, 0x40, 0x80, 0x100, 0x200);
my ($DELETE_SELF, $MOVE_SELF, $UNMOUNT, $OVERFLOW, $IGNORED) = (0x400, 0x800, 0x2000, 0x4000, 0x8000);
my ($ONLY_DIRECTORIES, $IS_DIRECTORY, $CLOSE_ON_EXEC) = (0x1000000, 0x40000000, 02000000);
my $wanted = $MODIFY | $ATTRIB | $MOVED_FROM | $MOVED_TO | $CREATE | $DELETE | $DELETE_SELF | $MOVE_SELF;
my (%directories, %told);
sub refused { print "refused ", $! + 0, "\\n"; exit }
sub report { my ($change, $name) = @_; print "$change ", unpack("H*", $name), "\\n" }
my $descriptor = syscall($init + 0, $CLOSE_ON_EXEC);
refused() if $descriptor < 0;
open(my $notices, "<&=", $descriptor) or refused();
sub attach {
  my ($name, $fresh) = @_;
  my $directory = $name eq "" ? $top : "$top/$name";
  my $watch = syscall($add + 0, $descriptor, $directory, $wanted | $ONLY_DIRECTORIES);
  if ($watch < 0) {
    my ($ENOENT, $ENOTDIR) = (2, 20);
    # Gone again already.
    return if $name ne "" && ($! == $ENOENT || $! == $ENOTDIR);
    refused();
  }
  $directories{$watch} = $name;
  return unless $recursive && opendir(my $handle, $directory);
  for my $entry (sort grep { $_ ne "." && $_ ne ".." } readdir $handle) {
    my $child = $name eq "" ? $entry : "$name/$entry";
    if ($fresh) { $told{$child} = 1; report("create", $child) }
    lstat "$top/$child";
    attach($child, $fresh) if -d _;
  }
}
sub detach {
  my $name = shift;
  for my $watch (keys %directories) {
    next unless $directories{$watch} eq $name || index($directories{$watch}, "$name/") == 0;
    delete $directories{$watch};
    syscall($remove + 0, $descriptor, $watch + 0);
  }
}
attach("", 0);
print "ready\\n";
while (my $length = sysread($notices, my $buffer, 65536)) {
  for (my $at = 0; $at < $length;) {
    my ($watch, $mask, $cookie, $size) = unpack("lLLL", substr($buffer, $at, 16));
    my $entry = unpack("Z*", substr($buffer, $at + 16, $size));
    $at += 16 + $size;
    if ($mask & $OVERFLOW) { print "lost\\n"; exit }
    my $directory = $directories{$watch};
    next unless defined $directory;
    if ($mask & ($IGNORED | $UNMOUNT)) { delete $directories{$watch}; next }
    # What befalls a directory itself is told by the one it lies in.
    next if $size == 0 && $directory ne "";
    my $name = $size == 0 ? "." : $directory eq "" ? $entry : "$directory/$entry";
    if ($mask & ($CREATE | $MOVED_TO)) {
      report("create", $name) unless delete $told{$name};
      attach($name, 1) if $recursive && $mask & $IS_DIRECTORY;
    }
    if ($mask & ($MOVED_FROM | $DELETE)) {
      delete $told{$name};
      detach($name) if $mask & $IS_DIRECTORY;
    }
    report("rename", $name) if $mask & ($MOVED_FROM | $MOVE_SELF);
    report("chmod", $name) if $mask & $ATTRIB;
    report("write", $name) if $mask & $MODIFY;
    report("remove", $name) if $mask & ($DELETE | $DELETE_SELF);
  }
}
`
  const changes: readonly WatchEventType[] = ['create', 'write', 'remove', 'rename', 'chmod']
  const nameOf = (number: number) => Object.entries(constants.errno).find(([, known]) => known === number)?.[0] ?? 'EIO'

  return {
    async watch(path, recursive, call) {
      if (!fs.statSync(path).isDirectory()) throw failures.create('not-directory', `${path} is not a directory`)
      if (numbers === undefined) throw failures.create('unsupported', `no watching on ${process.arch}`)
      const child = spawn('perl', ['-e', observer, ...numbers.map(String), recursive ? '1' : '', path], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      let cancelled = false
      call.receive({
        cancel: () => {
          cancelled = true
          child.kill('SIGKILL')
        },
      })
      await new Promise<void>((started, refused) => {
        let ready = false
        let reason = failures.create('failed', 'the program that watches directories was ended')
        let text = ''
        child.once('error', (error) => {
          refused(failures.create('unsupported', `watching needs perl in the machine: ${error.message}`))
        })
        child.once('close', () => {
          if (!ready) refused(reason)
          else if (!cancelled) call.event({ type: 'failed', failure: failures.describe(reason) })
        })
        child.stdout.setEncoding('latin1').on('data', (chunk: string) => {
          const lines = (text + chunk).split('\n')
          text = lines.pop() ?? ''
          for (const line of lines) {
            const [word = '', detail = ''] = line.split(' ')
            const change = changes.find((known) => known === word)
            if (change !== undefined)
              call.event({ type: 'change', name: Buffer.from(detail, 'hex').toString(), change })
            else if (word === 'refused') reason = failures.refuse(nameOf(Number(detail)), `inotify_add_watch ${path}`)
            else if (word === 'lost') reason = failures.create('failed', 'too many changes at once, some are lost')
            else {
              ready = true
              started()
            }
          }
        })
      })
      return null
    },
  }
}
