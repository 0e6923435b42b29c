/** Text for the model that describes the sandbox. */
export const defaultInstructions = (workingDirectory: string | undefined): string =>
  [
    "Commands run with bash in an isolated Linux virtual machine in the cloud, not on the user's machine.",
    workingDirectory === undefined
      ? 'They start in the home directory, /home/user.'
      : `They start in ${workingDirectory} unless another directory is given.`,
    'Commands have no keyboard: a program that waits for input sees its end at once.',
    'Start servers and watchers as background processes.',
    'Files stay when the machine is paused and resumed.',
  ].join(' ')
