import type { OperationName } from './contract.ts'
import { sandboxLogs, sandboxLogsV1 } from './observation/logs.ts'
import { sandboxesMetrics, sandboxMetrics } from './observation/metrics.ts'
import { listTeams, teamMetrics, teamMetricsMaximum } from './observation/teams.ts'
import { unsupported, type Route } from './route.ts'
import { connectSandbox, connectSandboxV1, resumeSandboxV1 } from './sandboxes/connect.ts'
import { createSandbox, createSandboxV1 } from './sandboxes/create.ts'
import { forkSandbox } from './sandboxes/fork.ts'
import { listSandboxes, listSandboxesV1 } from './sandboxes/list.ts'
import { deleteSandbox, getSandbox, pauseSandboxRoute, refreshSandbox, setTimeoutRoute } from './sandboxes/manage.ts'
import { updateNetwork } from './sandboxes/network.ts'
import { createSnapshot, listSnapshots } from './sandboxes/snapshots.ts'
import { findAlias } from './templates/alias.ts'
import { buildLogs, buildStatus } from './templates/build-status.ts'
import {
  deleteTemplate,
  getTemplate,
  listTemplates,
  listTemplatesV1,
  updateTemplate,
  updateTemplateV1,
} from './templates/manage.ts'
import { requestBuild } from './templates/request-build.ts'
import { startBuild } from './templates/start-build.ts'
import { assignTags, deleteTags, listTags } from './templates/tags.ts'
import { fileUploadLink } from './templates/uploads.ts'

const NO_SECRETS = 'no egress proxy resolves them'
const NO_VOLUMES = 'no network volumes are emulated'

const rows = [
  createSandbox,
  createSandboxV1,
  listSandboxes,
  listSandboxesV1,
  getSandbox,
  deleteSandbox,
  connectSandbox,
  connectSandboxV1,
  resumeSandboxV1,
  pauseSandboxRoute,
  setTimeoutRoute,
  refreshSandbox,
  createSnapshot,
  listSnapshots,
  forkSandbox,
  updateNetwork,
  sandboxLogsV1,
  sandboxLogs,
  sandboxMetrics,
  sandboxesMetrics,
  requestBuild,
  fileUploadLink,
  startBuild,
  buildStatus,
  buildLogs,
  findAlias,
  listTags,
  assignTags,
  deleteTags,
  getTemplate,
  listTemplates,
  listTemplatesV1,
  updateTemplate,
  updateTemplateV1,
  deleteTemplate,
  listTeams,
  teamMetrics,
  teamMetricsMaximum,
  unsupported('get', '/secrets', NO_SECRETS),
  unsupported('post', '/secrets', NO_SECRETS),
  unsupported('get', '/secrets/{secretID}', NO_SECRETS),
  unsupported('post', '/secrets/{secretID}', NO_SECRETS),
  unsupported('delete', '/secrets/{secretID}', NO_SECRETS),
  unsupported('get', '/volumes', NO_VOLUMES),
  unsupported('post', '/volumes', NO_VOLUMES),
  unsupported('get', '/volumes/{volumeID}', NO_VOLUMES),
  unsupported('delete', '/volumes/{volumeID}', NO_VOLUMES),
] as const

/** Does not compile while an operation of the contract has no row. */
type Missing = Exclude<OperationName, (typeof rows)[number]['name']>
const complete: [Missing] extends [never] ? typeof rows : { readonly missing: Missing } = rows

/** Every operation of the contract, each once. */
export const ROUTES: readonly Route[] = complete
