// SPDX-License-Identifier: Apache-2.0
//
// redsync as one more that wants the lock: redsync PORT[,PORT...] NAME DIRECTORY ROUNDS. What is done inside is the
// same as in ../section, which says why.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func section(directory string) error {
	inside := directory + "/inside"
	if err := os.Mkdir(inside, 0o755); err != nil {
		return os.WriteFile(directory+"/broken", []byte("redsync found another inside\n"), 0o644)
	}
	counter := directory + "/counter"
	text, err := os.ReadFile(counter)
	if err != nil {
		return err
	}
	before, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	if err := os.WriteFile(counter, []byte(fmt.Sprintln(before+1)), 0o644); err != nil {
		return err
	}
	entered, err := os.OpenFile(directory+"/entered", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(entered, "redsync"); err != nil {
		return err
	}
	if err := entered.Close(); err != nil {
		return err
	}
	return os.Remove(inside)
}

// By chance: those who split the votes of several servers would split them again if all waited for as long.
func pause() time.Duration {
	return rand.N(10 * time.Millisecond)
}

func main() {
	ports, name, directory := os.Args[1], os.Args[2], os.Args[3]
	rounds, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	var pools []pool.Pool
	for _, port := range strings.Split(ports, ",") {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})))
	}
	locks := redsync.New(pools...)
	for i := 0; i < rounds; i++ {
		mutex := locks.NewMutex(name, redsync.WithExpiry(10*time.Second), redsync.WithTries(1_000_000),
			redsync.WithRetryDelayFunc(func(int) time.Duration { return pause() }))
		if err := mutex.Lock(); err != nil {
			log.Fatal(err)
		}
		if err := section(directory); err != nil {
			log.Fatal(err)
		}
		if released, err := mutex.Unlock(); err != nil || !released {
			log.Fatal("not released: ", err)
		}
		time.Sleep(pause()) // who comes back at once takes it again and again, and nobody contends
	}
}
