import { enumerateLadder } from '../../../packages/resolution/test/support/enumeration.ts'
import { runFaults } from './faults.ts'
import { runHeads } from './heads.ts'
import { runStorm } from './storm.ts'

export interface SoakOptions {
  readonly starts: number
  readonly seed: number
  /** Told what goes on. */
  readonly say: (line: string) => void
}

export interface SoakFigures {
  readonly enumeratedCases: number
  /** Builds requested by four processes that share a lease. */
  readonly stormBuilds: number
  /** Ready builds of four processes without a lease in common. */
  readonly stormBuildsReadyNoLease: number
  /** Sandboxes of each of the two storms; where they differ, of the one that is further from 100. */
  readonly stormSandboxes: number
  readonly stormFallbacks: number
  /** Heads without a ready build in either run, and with a lease in common superseded builds as well. */
  readonly movingHeadsLost: number
  /** With a lease in common. */
  readonly currentWentBack: number
  readonly soakStarts: number
  readonly soakWedged: number
  readonly soakDuplicates: number
  readonly soakUnhandled: number
  readonly soakRssGrowthMB: number
}

const HEADS = 20
const STORM_STARTS = 100

/** Runs everything, one after the other so that nothing disturbs another's figures. */
export async function runSoak({ starts, seed, say }: SoakOptions): Promise<{
  readonly figures: SoakFigures
  /** Promises that did not hold. */
  readonly broken: readonly string[]
}> {
  const broken: string[] = []
  const promise = (text: string, holds: boolean): void => {
    if (!holds) broken.push(text)
  }

  say('every answer the ladder can get ...')
  const { cases, broken: rules } = await enumerateLadder()
  promise('whatever E2B answers, a start ends, with one sandbox at most, and stops where it must', rules.length === 0)

  say('four processes on one cold ref, with a lease in common ...')
  const leased = await runStorm('shared')
  say(JSON.stringify(leased))
  say('four processes on one cold ref, without ...')
  const free = await runStorm('none')
  say(JSON.stringify(free))
  promise('with a lease one build is requested', leased.builds === 1)
  promise('without a lease one build ends ready', free.ready === 1)
  const sandboxes = [leased, free].map((storm) => storm.sandboxes)
  promise(
    'every session of a storm has one sandbox',
    sandboxes.every((count) => count === STORM_STARTS),
  )
  promise('no session of a storm is on a fallback', leased.fallbacks + free.fallbacks === 0)

  say('a head that moves faster than a build takes, with a lease in common ...')
  const followed = await runHeads(HEADS, 'shared')
  say(JSON.stringify(followed))
  say('a head that moves faster than a build takes, without ...')
  const chased = await runHeads(HEADS, 'none')
  say(JSON.stringify(chased))
  promise('no head is lost to another', followed.lost + chased.lost === 0)
  promise('with a lease no build is superseded', followed.superseded === 0)
  promise('a build of every head that was seen completes', followed.ready > HEADS / 2 && chased.ready > HEADS / 2)
  promise('current ends on the newest head', followed.endsOnNewest && chased.endsOnNewest)
  promise('with a lease current never moves back', followed.wentBack === 0)

  say(`${starts} starts with random faults ...`)
  const soaked = await runFaults(starts, seed)
  say(JSON.stringify(soaked))
  promise('no start is wedged', soaked.wedged === 0 && soaked.started === starts)
  promise('no logical id has two sandboxes', soaked.duplicates === 0 && soaked.left === 0)
  const unhandled = [leased, free, followed, chased, soaked].reduce((sum, each) => sum + each.unhandled, 0)
  promise('no rejection is unhandled', unhandled === 0)

  const figures: SoakFigures = {
    enumeratedCases: cases,
    stormBuilds: leased.builds,
    stormBuildsReadyNoLease: free.ready,
    stormSandboxes: sandboxes.find((count) => count !== STORM_STARTS) ?? STORM_STARTS,
    stormFallbacks: leased.fallbacks + free.fallbacks,
    movingHeadsLost: followed.lost + followed.superseded + chased.lost,
    currentWentBack: followed.wentBack,
    soakStarts: soaked.started,
    soakWedged: soaked.wedged,
    soakDuplicates: soaked.duplicates,
    soakUnhandled: unhandled,
    soakRssGrowthMB: soaked.rssGrowthMB,
  }
  return { figures, broken }
}
