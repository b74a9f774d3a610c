// Command mini-http-server answers every HTTP request on port 8080 with the value of $MESSAGE.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// PID 1 gets no default signal actions, and a Pod's deletion should not take its whole grace period.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-stop
		os.Exit(0)
	}()
	message := os.Getenv("MESSAGE")
	log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(response, message)
	})))
}
