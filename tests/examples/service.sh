# A chat completion, as with any model of OpenAI's API
curl -s $URL/v1/chat/completions -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \
  -d '{"model": "toolloop", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}'

# A run with its events: each has a number, and `last-event-id` resumes the stream
curl -sN $URL/v1/runs -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -H 'accept: text/event-stream' \
  -d '{"input": "What is 17 * 23?"}'

# A run in the background; the list of runs; metrics; the state of the service
curl -s $URL/v1/runs -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \
  -d '{"input": "What time is it?", "background": true}'
curl -s $URL/v1/runs -H "authorization: Bearer $TOKEN"
curl -s $URL/metrics -H "authorization: Bearer $TOKEN"
curl -s $URL/admin/api/state -H "authorization: Bearer $TOKEN"
