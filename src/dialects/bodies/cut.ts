export const cutReason = 'The response was cut before the call was complete. Send the call again, shorter if need be.'
