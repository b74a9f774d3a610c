/** All promises, as reliability.md and simulation.md name them. */
import type { NamedPromise } from '../history.ts';
import { appliedRunsEverywhere } from './applied.ts';
import { askedIsGiven } from './asked.ts';
import {
  absenceIsProven,
  deletedRunsAreLost,
  phasesNeverGoBack,
  resultsAreTrue,
  statusIsValid,
} from './at-status.ts';
import { limitsAreKept, limitsEnd } from './ends.ts';
import { exactlyOnce, nothingIsHeld } from './exactly-once.ts';
import { editsComeTooLate, neverEarly, notForDeletedOrSuspended, onePodPerAttempt } from './launches.ts';
import { leftOutIsTold } from './left-out.ts';
import {
  changeIsActedOn,
  dueIsLaunched,
  finishedIsDone,
  nothingRunsOn,
  reasonsAreTold,
  someReplicaLeads,
} from './liveness.ts';
import { namespaceGoes } from './namespace-goes.ts';
import { batchesAreBounded, brokenContentStops, checkedRollouts, notTooSoon, oneOwnerFirst } from './pace.ts';
import { processesGoOn } from './process-ends.ts';
import {
  bystandersAreInTime,
  doneInTime,
  launchedInTime,
  restartBeginsInTime,
  toldInTime,
} from './punctual.ts';
import { requestsAreBounded, silence } from './requests.ts';
import {
  budgetsHold,
  metadataIsNoChange,
  nothingWithoutReason,
  oncePerChange,
  onlyOwnPods,
  onlySelectedPods,
  rolloutOncePerChange,
} from './restarts.ts';
import { restartGoesOn } from './tried-again.ts';
import { nothingLeaks, onlyLeadersWrite, withinRights, writesAreGuarded } from './writes.ts';

export const allPromises: readonly NamedPromise[] = [
  onePodPerAttempt,
  neverEarly,
  notForDeletedOrSuspended,
  onlyOwnPods,
  phasesNeverGoBack,
  editsComeTooLate,
  oncePerChange,
  rolloutOncePerChange,
  metadataIsNoChange,
  nothingWithoutReason,
  onlySelectedPods,
  onlyLeadersWrite,
  writesAreGuarded,
  withinRights,
  nothingLeaks,
  budgetsHold,
  exactlyOnce,
  resultsAreTrue,
  limitsAreKept,
  reasonsAreTold,
  appliedRunsEverywhere,
  leftOutIsTold,
  batchesAreBounded,
  checkedRollouts,
  oneOwnerFirst,
  brokenContentStops,
  notTooSoon,
  requestsAreBounded,
  absenceIsProven,
  deletedRunsAreLost,
  statusIsValid,
  processesGoOn,
  dueIsLaunched,
  finishedIsDone,
  nothingRunsOn,
  changeIsActedOn,
  askedIsGiven,
  restartGoesOn,
  limitsEnd,
  someReplicaLeads,
  nothingIsHeld,
  namespaceGoes,
  silence,
  launchedInTime,
  bystandersAreInTime,
  doneInTime,
  toldInTime,
  restartBeginsInTime,
];
