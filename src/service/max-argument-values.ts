/** The default limit on the number of values in a call's arguments. More values would block the event loop for too long. */
export const maxArgumentValues = 10_000
