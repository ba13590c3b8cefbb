# A conversation, as with any model of OpenAI's API
curl -s $URL/v1/chat/completions -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \
  -d '{"model": "toolloop", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}'

# A run, watched: every event has a number, and `last-event-id` takes a stream up again
curl -sN $URL/v1/runs -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -H 'accept: text/event-stream' \
  -d '{"input": "What is 17 * 23?"}'

# A run in the background; what has become of all of them; counters; how the service stands
curl -s $URL/v1/runs -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \
  -d '{"input": "What time is it?", "background": true}'
curl -s $URL/v1/runs -H "authorization: Bearer $TOKEN"
curl -s $URL/metrics -H "authorization: Bearer $TOKEN"
curl -s $URL/admin/api/state -H "authorization: Bearer $TOKEN"
