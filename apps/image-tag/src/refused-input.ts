import type { IdentityError, IdentityErrorCode } from '@warmbox/identity'

/** What is wrong with an input, to stand behind its name, and what to write instead. */
export interface Refusal {
  readonly problem: string
  readonly hint: string
}

/** Why an input was refused, in the terms of a command line rather than of the library that refused it. */
export function refusalOf(error: IdentityError): Refusal {
  // The https form of an ssh URL is known to the library alone.
  const { hint } = error.code === 'CLONE_URL_PROTOCOL' ? error : { hint: undefined }
  const refusal = refusals[error.code]
  return hint === undefined ? refusal : { ...refusal, hint }
}

const EXAMPLE = 'https://github.com/acme/widgets.git'

const unforeseen: Refusal = { problem: 'cannot be used', hint: '--help says what it takes.' }

const refusals: Readonly<Record<IdentityErrorCode, Refusal>> = {
  INPUT_TYPE: unforeseen,
  INPUT_UNKNOWN_FIELD: unforeseen,
  INPUT_REQUIRED: { problem: 'is empty', hint: 'Write something, or leave the option out.' },
  INPUT_TOO_LONG: { problem: 'is too long', hint: 'Put it into a file and name that by --file.' },
  INPUT_TOO_MANY: { problem: 'is given too often', hint: 'Put several into one, or into a file named by --file.' },
  INPUT_CHARACTER: { problem: 'holds a control character', hint: 'Only tabs and line ends can be in it.' },
  CLONE_URL_CHARACTER: { problem: 'holds a character no URL has', hint: 'Escape it; a host has an xn-- form.' },
  CLONE_URL_PROTOCOL: { problem: 'is not an https URL', hint: `Write it like ${EXAMPLE}.` },
  CLONE_URL_CREDENTIALS: { problem: 'carries credentials', hint: 'Write it without them; an @ in the path is %40.' },
  CLONE_URL_HOST: { problem: 'has no valid host', hint: `Write it like ${EXAMPLE}.` },
  CLONE_URL_PORT: { problem: 'has no valid port', hint: 'Use 1 to 65535, or leave it out.' },
  CLONE_URL_PATH: { problem: 'has a path that is none of a repository', hint: `Write it like ${EXAMPLE}.` },
  CLONE_URL_QUERY: { problem: 'has a query', hint: 'Leave out what starts with the question mark.' },
  CLONE_URL_FRAGMENT: { problem: 'has a fragment', hint: 'Leave out what starts with the #; the commit is found.' },
  SHA_INVALID: unforeseen,
  ENV_NAME_INVALID: { problem: 'has an invalid name', hint: 'Use letters, digits and _, no digit first.' },
  CPU_COUNT_INVALID: { problem: 'is no size of a machine', hint: 'Use 1 or an even number up to 32.' },
  MEMORY_INVALID: { problem: 'is no size of a machine', hint: 'Use an even number of MiB from 128 to 1048576.' },
  WORKING_DIRECTORY_INVALID: {
    problem: 'is not a plain absolute directory',
    hint: 'Write it like /home/user/widgets, of letters, digits and . _ + @ = , - only.',
  },
  NODE_VERSION_INVALID: unforeseen,
  APT_PACKAGE_INVALID: unforeseen,
  REF_INVALID: unforeseen,
  NAME_INVALID: unforeseen,
  TAG_INVALID: unforeseen,
}
