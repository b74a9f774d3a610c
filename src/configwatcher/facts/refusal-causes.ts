/** Refusal causes: why the API server does not let a Pod go. What sets one apart from another stands in its row. */
export const refusalCauses = {
  /** A PodDisruptionBudget. */
  Budget: { words: 'a disruption budget keeps a Pod', isOfBudgets: true, isOfPodAlone: false },
  /** More than one PodDisruptionBudget, which the eviction API never resolves. */
  SeveralBudgets: {
    words: 'a Pod has more than one disruption budget',
    isOfBudgets: true,
    isOfPodAlone: true,
  },
  /** The server asks to wait. */
  Overload: { words: 'the API server asks to wait', isOfBudgets: false, isOfPodAlone: false },
  /** The owner has changed since it was read, or evictions got into each other's way. */
  Conflict: {
    words: 'an owner has changed since it was read',
    isOfBudgets: false,
    isOfPodAlone: false,
  },
  /** The operator lacks the right. */
  Forbidden: { words: 'a right is missing', isOfBudgets: false, isOfPodAlone: false },
  /** It may have happened. */
  NoAnswer: { words: 'a restart was not answered', isOfBudgets: false, isOfPodAlone: false },
  /** Any other error. */
  Failure: { words: 'a restart failed', isOfBudgets: false, isOfPodAlone: true },
} as const;
