import type { Failures } from './accounts.ts'

export type Metadata = Readonly<Record<string, string>>

/** The metadata of files: extended attributes whose name starts with `user.e2b.`, as the platform keeps it. */
export interface Attributes {
  /** In the order of the paths; nothing for what is not there, and where attributes cannot be read. */
  read(paths: readonly string[]): Promise<readonly Metadata[]>
  /** Throws `unsupported` where the file system or the machine cannot, and what the system refuses with. */
  replace(path: string, metadata: Metadata): Promise<void>
}

/**
 * Node cannot reach extended attributes, and the tools for them are on few hosts. perl, which is on every Debian, makes
 * the system calls: one process that answers line by line, started when the first question comes.
 */
export function createAttributes(failures: Failures): Attributes {
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { constants } = process.getBuiltinModule('node:os')
  /** Numbers of setxattr, getxattr, listxattr and removexattr. */
  const numbersFor: Readonly<Record<string, readonly number[]>> = { x64: [188, 191, 194, 197], arm64: [5, 8, 11, 14] }
  const numbers = numbersFor[process.arch]
  const server = `
$| = 1;
my ($set, $get, $list, $remove) = map { $_ + 0 } @ARGV;
my $prefix = "user.e2b.";
my $size = 65536;
sub names {
  my $path = shift;
  my $buffer = "\\0" x $size;
  my $length = syscall($list, $path, $buffer, $size);
  return $length > 0 ? grep { index($_, $prefix) == 0 } split(/\\0/, substr($buffer, 0, $length)) : ();
}
sub pairs {
  my $path = shift;
  my @pairs;
  for my $name (names($path)) {
    my $buffer = "\\0" x $size;
    my $length = syscall($get, $path, $name, $buffer, $size);
    next if $length < 0;
    push @pairs, unpack("H*", substr($name, length $prefix)) . "=" . unpack("H*", substr($buffer, 0, $length));
  }
  return @pairs;
}
sub replace {
  my ($path, %new) = @_;
  for my $name (names($path)) {
    next if exists $new{$name};
    my $gone = $name;
    return $! + 0 if syscall($remove, $path, $gone) < 0;
  }
  for my $name (keys %new) {
    my ($key, $value) = ($name, $new{$name});
    return $! + 0 if syscall($set, $path, $key, $value, length $value, 0) < 0;
  }
  return 0;
}
while (my $line = <STDIN>) {
  chomp $line;
  my ($verb, $path, @given) = split / /, $line;
  $path = pack("H*", $path);
  if ($verb eq "get") { print join(" ", "ok", pairs($path)), "\\n"; next }
  my %new = map { my ($name, $value) = split /=/, $_, 2; ($prefix . pack("H*", $name), pack("H*", $value)) } @given;
  my $errno = replace($path, %new);
  print $errno == 0 ? "ok\\n" : "errno $errno\\n";
}
`
  interface Server {
    ask(line: string): Promise<string>
  }
  let running: Server | undefined

  const start = (): Server => {
    const child = spawn('perl', ['-e', server, ...(numbers ?? []).map(String)], { stdio: ['pipe', 'pipe', 'ignore'] })
    const waiting: { readonly resolve: (answer: string) => void; readonly reject: (error: Error) => void }[] = []
    let text = ''
    const end = (reason: string) => {
      running = undefined
      for (const { reject } of waiting.splice(0)) reject(failures.create('unsupported', reason))
    }
    child.once('error', (error) => end(`file metadata needs perl in the machine: ${error.message}`))
    child.once('close', () => end('the program that reaches file metadata was ended'))
    // What could not be written is told by the end of the program.
    child.stdin.on('error', () => undefined)
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) waiting.shift()?.resolve(line)
    })
    return {
      ask: (line) =>
        new Promise((resolve, reject) => {
          waiting.push({ resolve, reject })
          child.stdin.write(`${line}\n`)
        }),
    }
  }

  const ask = async (line: string): Promise<string> => {
    if (numbers === undefined) throw failures.create('unsupported', `no file metadata on ${process.arch}`)
    running ??= start()
    return running.ask(line)
  }

  const encoding = 'hex'
  const hex = (value: string) => Buffer.from(value).toString(encoding)
  const text = (value: string) => Buffer.from(value, encoding).toString()

  const readOne = async (path: string): Promise<Metadata> => {
    const answer = await ask(`get ${hex(path)}`)
    const pairs = answer.split(' ').slice(1)
    return Object.fromEntries(
      pairs.map((pair) => pair.split('=')).map(([name = '', value = '']) => [text(name), text(value)]),
    )
  }

  const nameOf = (number: number) => Object.entries(constants.errno).find(([, known]) => known === number)?.[0] ?? 'EIO'

  return {
    // A machine that cannot tell metadata has none to tell.
    read: (paths) => Promise.all(paths.map((path) => readOne(path).catch((): Metadata => ({})))),
    async replace(path, metadata) {
      const pairs = Object.entries(metadata).map(([name, value]) => `${hex(name)}=${hex(value)}`)
      const [word, errno = ''] = (await ask(['set', hex(path), ...pairs].join(' '))).split(' ')
      if (word === 'ok') return
      const name = nameOf(Number(errno))
      throw name === 'EOPNOTSUPP' || name === 'ENOTSUP'
        ? failures.create('unsupported', 'this file system keeps no file metadata')
        : failures.refuse(name, `setxattr ${path}`)
    },
  }
}
