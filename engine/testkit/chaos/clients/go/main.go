// A client of the chaos run: `go-redis plain|cluster HOST PORT NAME WORKERS`. See ../../README.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	keys = 8
	pace = 2 * time.Millisecond
)

var (
	kind    = os.Args[1]
	address = os.Args[2] + ":" + os.Args[3]
	name    = os.Args[4]
	stop    atomic.Bool
	mutex   sync.Mutex
	output  = bufio.NewWriter(os.Stdout)
)

func say(words ...string) {
	mutex.Lock()
	defer mutex.Unlock()
	fmt.Fprintln(output, strings.Join(words, "\t"))
}

func clock() string {
	return fmt.Sprintf("%.6f", float64(time.Now().UnixMicro())/1e6)
}

// A connection without automatic retries, or the library's cluster client.
func connect() redis.UniversalClient {
	if kind == "cluster" {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}, ReadTimeout: 10 * time.Second})
	}
	return redis.NewClient(&redis.Options{
		Addr: address, MaxRetries: -1, PoolSize: 1, ReadTimeout: 10 * time.Second,
	})
}

// Prints what call returns. After a failure, each value is printed as "-".
func timed(words []string, call func() ([]string, error)) {
	began := clock()
	shown, err := call()
	outcome := "ok"
	if err != nil {
		for index := range shown {
			shown[index] = "-"
		}
		outcome = strings.ReplaceAll(err.Error(), "\n", " ")
	}
	say(append(append(words, shown...), began, clock(), outcome)...)
}

func work(worker string) {
	client := connect()
	ctx := context.Background()
	for number := 1; !stop.Load(); number++ {
		key := fmt.Sprintf("%s:%d", worker, number%keys)
		timed([]string{"w", key, strconv.Itoa(number)}, func() ([]string, error) {
			return nil, client.RPush(ctx, key, number).Err()
		})
		timed([]string{"r", key}, func() ([]string, error) {
			value, err := client.LIndex(ctx, key, -1).Result()
			if errors.Is(err, redis.Nil) {
				return []string{"none"}, nil
			}
			return []string{value}, err
		})
		if kind == "plain" && number%5 == 0 {
			timed([]string{"s", worker}, func() ([]string, error) {
				count, err := client.Do(ctx, "WAIT", 1, 200).Int64()
				return []string{strconv.FormatInt(count, 10)}, err
			})
		}
		time.Sleep(pace)
	}
}

func main() {
	redis.SetLogger(silent{})
	workers, err := strconv.Atoi(os.Args[5])
	if err != nil {
		panic(err)
	}
	var group sync.WaitGroup
	for number := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			work(fmt.Sprintf("%s:%d", name, number))
		}()
	}
	say("ready")
	mutex.Lock()
	output.Flush()
	mutex.Unlock()
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop.Store(true)
	group.Wait()
	output.Flush()
}

// Every failure is also reported by a command.
type silent struct{}

func (silent) Printf(context.Context, string, ...interface{}) {}
