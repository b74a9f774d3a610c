/** What a scene is: an object that comes into a state of the coverage table, and stays there for a while. */
import type { Draw } from './draw-ats.ts';
import type { Deed, FaultPlan } from './plan.ts';

export interface SceneDraw extends Draw {
  /** Of the object. */
  readonly name: string;
  /** When it is made, and when it may leave the state, ms since the start. */
  readonly begin: number;
  readonly end: number;
}

export interface Scene {
  readonly deeds: readonly Deed[];
  /** What it takes beside deeds. */
  readonly faults?: readonly FaultPlan[];
  /** When the object is in the state, if nothing comes between, ms after the beginning. */
  readonly from: number;
  readonly until?: number;
  /** The writes that the operator does next in that state, beside the one of status. */
  readonly writes?: readonly Write[];
  /** What shows the state again; without it an edit of the object. */
  readonly nudge?: (at: number, index: number) => Deed;
}

/** Method and part of the path. */
export type Write = readonly [method: string, path: string];

export type Scenes = Readonly<Record<string, (draw: SceneDraw) => Scene>>;
