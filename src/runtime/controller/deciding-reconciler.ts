/** DecidingReconciler: the loop of a reconciler that decides and acts apart. It knows no kind. */
import type { Answer, Decision, EffectList } from './decision.ts';
import type { ReconcileContext, Reconciler, Request, Result } from './reconciler.ts';

/** Decisions in one pass; more of them would be a loop. */
const maxDecisions = 8;

/**
 * The parts of a {@link DecidingReconciler} that know the kind. An error in one of them ends the pass as it
 * ends a reconcile.
 */
export interface Decider<Facts, Need, Effect> {
  /** The facts that are known at once; undefined when there is nothing to decide about. */
  observe(request: Request, context: ReconcileContext): Promise<Facts | undefined>;
  /** Pure and synchronous: the same facts give the same decision. */
  decide(facts: Facts): Decision<Need, Effect>;
  /** Reads a fact that a decision turns on. Its answer is never `goOn`. */
  read(need: Need, facts: Facts, context: ReconcileContext): Promise<Answer<Facts>>;
  perform(effect: Effect, facts: Facts, context: ReconcileContext): Promise<Answer<Facts>>;
}

/**
 * A Reconciler that observes, decides and performs, until an effect or the end of the list ends the pass.
 */
export class DecidingReconciler<Facts extends object, Need, Effect> implements Reconciler {
  readonly #decider: Decider<Facts, Need, Effect>;

  constructor(decider: Decider<Facts, Need, Effect>) {
    this.#decider = decider;
  }

  /** @throws {Error} when the decision does not settle; otherwise the errors of the decider. */
  async reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    let facts: Facts | undefined = await this.#decider.observe(request, context);
    if (facts === undefined) return {};
    for (let decisions = 0; decisions < maxDecisions; decisions++) {
      const decision = this.#decider.decide(facts);
      const answer: Answer<Facts> = await ('need' in decision
        ? this.#decider.read(decision.need, facts, context)
        : this.#perform(decision, facts, context));
      if (answer.next === 'end') return answer.result;
      facts = answer.facts;
    }
    throw new Error(`the decision about ${request.namespace}/${request.name} does not settle`);
  }

  /** Performs the effects until one of them brings up something else. */
  async #perform(list: EffectList<Effect>, first: Facts, context: ReconcileContext): Promise<Answer<Facts>> {
    const { effects, ...asked } = list;
    let [facts, soonest] = [first, asked.requeueAfter ?? Number.POSITIVE_INFINITY];
    for (const effect of effects) {
      const answer = await this.#decider.perform(effect, facts, context);
      if (answer.next !== 'goOn') return answer;
      facts = answer.facts;
      soonest = Math.min(soonest, answer.requeueAfter ?? soonest);
    }
    const result = Number.isFinite(soonest) ? { ...asked, requeueAfter: soonest } : asked;
    return { next: 'end', result };
  }
}
