/** Of one call in the service, where its program says nothing else: each is checked, hidden and written within one turn of the event loop. */
export const maxArgumentValues = 10_000
