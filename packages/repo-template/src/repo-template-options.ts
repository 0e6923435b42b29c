import type { BuildEnvValue } from '@warmbox/identity'
import type { NamedTemplateSpec } from '@warmbox/resolution'
import type { TemplateBuilder } from 'e2b'
import type { HeadResolver } from './head/head.ts'
import type { CredentialForms } from './hosts/credential-form.ts'
import type { RefSelection } from './ref-selector.ts'
import type { RepositoryAccess } from './repository-access.ts'

/** What a repository template is made from. */
export interface RepoTemplateOptions extends RefSelection {
  /**
   * Called once per resolution, the only source of the clone URL and its credential. The key must be there; its value
   * may be `undefined`: a session without a repository, for which `createRepoTemplate` answers `undefined`. A
   * rejection, or no answer, counts as refused access: no template of the repository is booted.
   */
  getRepositoryAccess: (() => Promise<RepositoryAccess | undefined>) | undefined
  /** Shell commands run in the checkout, in order, each under `set -euo pipefail`. Blank ones are dropped. Part of the name. */
  setupCommand?: string | readonly string[] | undefined
  /**
   * Environment of every step of the build, setup included; nothing of it reaches a running sandbox. Part of the name:
   * a value given as `{ value, version }` counts with its version only, so it can rotate without a rebuild. Values
   * are in the template definition the build service stores: short-lived or not secret.
   */
  buildEnv?:
    | Readonly<Record<string, BuildEnvValue>>
    | (() => Promise<Readonly<Record<string, BuildEnvValue>>>)
    | undefined
  /** vCPUs: 1 or an even number up to 32. Default 2. Part of the name. */
  cpuCount?: number | undefined
  /** Memory in MiB: even, at least 128. Default 1024. Part of the name. */
  memoryMB?: number | undefined
  /** Exact Node.js version of the image, `MAJOR.MINOR.PATCH`. Default 24.20.0. Part of the name. */
  nodeVersion?: string | undefined
  /** Absolute directory of the checkout. Default `/home/user/<repository directory>`. Part of the name. */
  workingDirectory?: string | undefined
  /**
   * Extends what the image starts from: gets a builder of the default mountable template, answers the one to go on from.
   * What it answers is hashed into the name. Called once per resolution.
   */
  base?: ((builder: TemplateBuilder) => TemplateBuilder) | undefined
  /** Check submodules out too, to any depth. Default `false`. Part of the name. */
  submodules?: boolean | undefined
  /** Fetch Git LFS files too; git-lfs is installed where the image has none. Default `false`. Part of the name. */
  lfs?: boolean | undefined
  /**
   * Who clones. `clone`: a step of the build, for which the build service gets the credential. `upload`: this machine,
   * whenever a build is requested here, into a temporary directory; the service gets the commit's files and no
   * credential. The image is the same. Default `clone`.
   */
  source?: 'clone' | 'upload' | undefined
  /** Longest clone, submodules and LFS files included, in milliseconds. Default 20 minutes. */
  cloneTimeoutMs?: number | undefined
  /**
   * How hosts want a token presented, over the built-in table (GitHub, GitLab, Bitbucket, Azure DevOps, Gitea and
   * Forgejo; `x-access-token` for every other). By host, such as `{ 'git.example.com': { scheme: 'basic', user: 'oauth2' } }`.
   */
  credentialForms?: CredentialForms | undefined
  /**
   * The hosts a clone URL may name, for services that take URLs from strangers. `git.example.com` or
   * `git.example.com:8443` vouches for that host, wherever it is. `*.example.com` and `*` let hosts through whose
   * addresses are all public: neither loopback nor link-local nor private, as the URL has them or as the name resolves;
   * this machine then connects to the addresses it looked at. An entry without a port means 443. Default: every host.
   */
  allowedHosts?: readonly string[] | undefined
  /**
   * A moved head is built on the last good build of its branch; of this many builds in a row one is built from nothing, as
   * is every build whose parent is gone or whose build fails. 1: every one. Default 10.
   */
  cleanEvery?: number | undefined
  /**
   * How old an earlier build may be for a session to boot it while the head is built, in milliseconds since it was
   * requested; where it is older, the session waits for the head's build. 0: always wait. Default: any age will do. A head
   * that cannot be looked up has nothing to wait for: then any build is booted.
   */
  maxStaleMs?: number | undefined
  /** Full commit id the host vouches for: no head lookup, no access check, nothing stale, no moving tag. */
  sha?: string | undefined
  /** Booted where the repository's template cannot be built or read. Default: the default mountable template. */
  fallbackTemplate?: NamedTemplateSpec['fallbackTemplate'] | undefined
  /** Keeps tenants apart and names unguessable. Part of the name. */
  salt?: string | undefined
  /** Further inputs of the caller's own. Part of the name. */
  extra?: Readonly<Record<string, string>> | undefined
  /** What stands before `-<hash>` in the name. Default `mastra-repo`. */
  prefix?: string | undefined
  /**
   * PEM certificates trusted by the head lookup in addition to the system's. `NODE_EXTRA_CA_CERTS` and
   * `GIT_SSL_CAINFO` are honoured without it.
   */
  certificateAuthority?: string | undefined
  /** Longest head lookup in milliseconds. Default 10 000. */
  headTimeoutMs?: number | undefined
  /** How the head is looked up: `resolveHead` (default), its two halves `resolveHeadOverHttp` and `resolveHeadWithGit`, or your own. */
  resolveHead?: HeadResolver | undefined
}
