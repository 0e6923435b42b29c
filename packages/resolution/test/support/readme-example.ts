import { bootFromSpec, createTemplateApi } from '@warmbox/resolution'
import { Sandbox, Template } from 'e2b'

const { value: sandbox, rung } = await bootFromSpec(
  {
    ref: 'my-app:v7',
    template: Template().fromNodeImage('24').runCmd('npm install -g pnpm@12'),
    staleRef: 'my-app:current',
    buildTags: ['current'],
  },
  {
    api: createTemplateApi(),
    boot: (ref) => Sandbox.create(ref),
    discard: (late) => late.kill(),
    onEvent: (event) => console.log(event.type, event),
  },
)

console.log(`booted from the ${rung} rung`)
await sandbox.commands.run('pnpm --version')
