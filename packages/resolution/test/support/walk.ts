import { type Answer, ANSWERS, type Question } from './answers.ts'

export interface Asked {
  readonly question: Question
  readonly choice: number
  readonly answer: Answer
}

/** How questions beyond the enumerated ones are answered: as well as can be, or so that the climb goes on longest. */
export type Tail = 'well' | 'badly'

/** The answers that keep a climb going: nothing is there, no create works, every build fails for the platform. */
const BADLY: Readonly<Record<Question, string>> = {
  tags: 'none',
  status: 'missing',
  requestBuild: 'PLATFORM',
  startBuild: 'SERVICE_BUSY',
  buildProgress: 'failed',
  boot: '404',
  adopt: 'absent',
}

/** One way through the answers: the given choices first, then its tail. */
export class Walk {
  readonly asked: Asked[] = []
  readonly #prefix: readonly number[]
  readonly #tail: Tail

  constructor(prefix: readonly number[], tail: Tail) {
    this.#prefix = prefix
    this.#tail = tail
  }

  /** Answers a question, by a value or by throwing. */
  ask(question: Question): unknown {
    const answers: readonly Answer[] = ANSWERS[question]
    const choice = this.#prefix[this.asked.length] ?? this.#beyond(question, answers)
    const answer = answers[choice]
    if (answer === undefined) throw new RangeError(`No answer ${choice} to ${question}`)
    this.asked.push({ question, choice, answer })
    return answer.give()
  }

  /** The next way in depth-first order that differs within the first `depth` choices, if there is one. */
  next(depth: number): readonly number[] | undefined {
    const choices = this.asked.slice(0, depth)
    for (let last = choices.pop(); last !== undefined; last = choices.pop()) {
      const following = last.choice + 1
      if (following < ANSWERS[last.question].length) return [...choices.map(({ choice }) => choice), following]
    }
    return undefined
  }

  #beyond(question: Question, answers: readonly Answer[]): number {
    return this.#tail === 'well' ? 0 : answers.findIndex(({ name }) => name === BADLY[question])
  }
}
