// A producer for a plain HTTP queue: no SDK, nothing but the standard library.
//
//	go run publish.go BASE_URL KEY QUEUE BATCH_ID COUNT
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

type message struct {
	Body map[string]any `json:"body"`
}

func main() {
	baseURL, key, queue, batchID := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	count, err := strconv.Atoi(os.Args[5])
	must(err)
	messages := []message{}
	for n := range count {
		operationKey := fmt.Sprintf("%s:%d", batchID, n)
		messages = append(messages, message{map[string]any{"operation_key": operationKey, "n": n}})
	}
	body, err := json.Marshal(map[string]any{"queue": queue, "messages": messages})
	must(err)

	seen := []int{}
	for range 10 {
		request, err := http.NewRequest("POST", baseURL+"/queue/publish_batch", bytes.NewReader(body))
		must(err)
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", batchID)
		response, err := http.DefaultClient.Do(request)
		must(err)
		response.Body.Close()
		seen = append(seen, response.StatusCode)
		if response.StatusCode != 429 && response.StatusCode != 503 {
			break
		}
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		must(err)
		time.Sleep(time.Duration(seconds) * time.Second)
	}

	must(json.NewEncoder(os.Stdout).Encode(seen))
	if last := seen[len(seen)-1]; last != 200 && last != 202 {
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
