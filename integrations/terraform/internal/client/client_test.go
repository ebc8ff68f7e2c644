package client

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// console answers each request with the next of these replies, and records the requests.
type console struct {
	*httptest.Server
	requests []*http.Request
	bodies   []string
}

type reply struct {
	status     int
	body       string
	retryAfter string
}

func newConsole(t *testing.T, replies ...reply) (*console, *Client) {
	t.Helper()
	fake := &console{}
	fake.Server = httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		fake.requests, fake.bodies = append(fake.requests, request), append(fake.bodies, string(body))
		next := replies[min(len(fake.requests), len(replies))-1]
		if next.retryAfter != "" {
			writer.Header().Set("Retry-After", next.retryAfter)
		}
		writer.WriteHeader(next.status)
		_, _ = io.WriteString(writer, next.body)
	}))
	fake.Config.ErrorLog = nil
	t.Cleanup(fake.Close)
	return fake, newClient(t, fake, Options{Username: "ann", Password: "secret"})
}

func newClient(t *testing.T, fake *console, options Options) *Client {
	t.Helper()
	options.URL = fake.URL
	block := &pem.Block{Type: "CERTIFICATE", Bytes: fake.Certificate().Raw}
	options.CACertificate = pem.EncodeToMemory(block)
	created, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	created.firstPause = time.Millisecond
	return created
}

const refusal = `{"error_code": "name_exists", "description": "The name is taken.", "field": "name"}`

func TestErrorsContainTheMessageAndTheField(t *testing.T) {
	_, client := newConsole(t, reply{status: 409, body: refusal})
	_, err := client.Post(context.Background(), "/v1/bdbs", Object{"name": "a"})
	if FieldOf(err) != "name" || err.Error() != "The name is taken. (POST /v1/bdbs: status 409, name_exists)" {
		t.Errorf("%v, field %q", err, FieldOf(err))
	}
}

func TestErrorsWithoutJSONAreExplained(t *testing.T) {
	for _, each := range []struct {
		reply reply
		want  string
	}{
		{reply{status: 401}, "The username, password, or token is wrong."},
		{reply{status: 502, body: "<html>proxy</html>"}, "Bad Gateway"},
		{reply{status: 400, body: "bad body"}, "bad body"},
	} {
		_, client := newConsole(t, each.reply)
		if _, err := client.Get(context.Background(), "/v1/bdbs/1"); err == nil || !strings.HasPrefix(err.Error(), each.want) {
			t.Errorf("status %d: %v", each.reply.status, err)
		}
	}
}

func TestTemporaryRefusalsAreRepeated(t *testing.T) {
	for _, busy := range []reply{{status: 503}, {status: 429, retryAfter: "0"}, {status: 409, retryAfter: "0", body: refusal}} {
		fake, client := newConsole(t, busy, busy, reply{status: 200, body: `{"uid": 9007199254740993}`})
		created, err := client.Post(context.Background(), "/v1/bdbs", Object{"name": "a"})
		if err != nil || len(fake.requests) != 3 || fake.bodies[2] != `{"name":"a"}` {
			t.Fatalf("status %d: %v, bodies %v", busy.status, err, fake.bodies)
		}
		if number, isExact := created["uid"].(interface{ String() string }); !isExact || number.String() != "9007199254740993" {
			t.Errorf("the uid is %v", created["uid"])
		}
		keys := map[string]bool{}
		for _, each := range fake.requests {
			keys[each.Header.Get("Idempotency-Key")] = true
		}
		if len(keys) != 1 || keys[""] {
			t.Errorf("the keys of the repeated request are %v", keys)
		}
	}
}

func TestOtherRefusalsAreNotRepeated(t *testing.T) {
	for _, status := range []int{400, 401, 404, 406, 409, 500} {
		fake, client := newConsole(t, reply{status: status, body: refusal})
		if _, err := client.Post(context.Background(), "/v1/bdbs", Object{}); err == nil || len(fake.requests) != 1 {
			t.Errorf("status %d: %v after %d requests", status, err, len(fake.requests))
		}
	}
}

func TestRequestsEndAfterTheLastAttempt(t *testing.T) {
	fake, client := newConsole(t, reply{status: 503})
	if _, err := client.Get(context.Background(), "/v1/bdbs/1"); err == nil || len(fake.requests) != MaxAttempts {
		t.Errorf("%v after %d requests", err, len(fake.requests))
	}
}

func TestBusyObjectsAreAwaitedLonger(t *testing.T) {
	replies := slices.Repeat([]reply{{status: 409, retryAfter: "0", body: refusal}}, 2*MaxAttempts)
	fake, client := newConsole(t, append(replies, reply{status: 200, body: `{}`})...)
	client.firstPause = 0
	if _, err := client.Put(context.Background(), "/v1/bdbs/1", Object{}); err != nil || len(fake.requests) != 2*MaxAttempts+1 {
		t.Errorf("%v after %d requests", err, len(fake.requests))
	}
}

func TestPausesAskedForEndWithTheContext(t *testing.T) {
	fake, client := newConsole(t, reply{status: 503, retryAfter: "3600"})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if _, err := client.Get(ctx, "/v1/bdbs/1"); err == nil || len(fake.requests) != 1 {
		t.Errorf("%v after %d requests", err, len(fake.requests))
	}
}

func TestOnlyReadsAreRepeatedAfterALostReply(t *testing.T) {
	for method, want := range map[string]int{http.MethodGet: MaxAttempts, http.MethodPost: 1} {
		count := 0
		fake := &console{}
		fake.Server = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			count++
			panic(http.ErrAbortHandler) // closes the connection
		}))
		client := newClient(t, fake, Options{Token: "t"})
		if err := client.send(context.Background(), method, "/v1/bdbs", nil, nil); err == nil || count != want {
			t.Errorf("%s: %v after %d requests", method, err, count)
		}
		fake.Close()
	}
}

func TestCredentialsAreSent(t *testing.T) {
	fake, basic := newConsole(t, reply{status: 200, body: `{}`})
	token := newClient(t, fake, Options{Token: "sbt_1"})
	for _, client := range []*Client{basic, token} {
		if _, err := client.Get(context.Background(), "/v1/cluster"); err != nil {
			t.Fatal(err)
		}
	}
	if name, password, _ := fake.requests[0].BasicAuth(); name != "ann" || password != "secret" {
		t.Errorf("basic credentials %s, %s", name, password)
	}
	if sent := fake.requests[1].Header.Get("Authorization"); sent != "Bearer sbt_1" {
		t.Errorf("token %s", sent)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other, _ := newConsole(t, reply{status: 200, body: `{}`})
	fake := &console{Server: httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusFound))}
	t.Cleanup(fake.Close)
	client := newClient(t, fake, Options{Token: "t"})
	_, err := client.Get(context.Background(), "/v1/cluster")
	if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL) || len(other.requests) != 0 {
		t.Errorf("%v, requests to the other host: %d", err, len(other.requests))
	}
}

func TestUnknownCertificatesAreExplained(t *testing.T) {
	fake, _ := newConsole(t, reply{status: 200})
	client, err := New(Options{URL: fake.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	client.firstPause = time.Millisecond
	if _, err = client.Get(context.Background(), "/v1/cluster"); err == nil || !strings.Contains(err.Error(), "set ca_certificate") {
		t.Error(err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for name, options := range map[string]Options{
		"the URL must start with":       {URL: "console:9443", Token: "t"},
		"the URL must only contain":     {URL: "https://ann:secret@console", Token: "t"},
		"set a token":                   {URL: "https://console", Username: "ann"},
		"not both":                      {URL: "https://console", Username: "ann", Password: "p", Token: "t"},
		"not a certificate in PEM form": {URL: "https://console", Token: "t", CACertificate: []byte("x")},
	} {
		if _, err := New(options); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissingObjectsAreRecognized(t *testing.T) {
	_, client := newConsole(t, reply{status: 404, body: `{"error_code": "db_not_exist", "description": "Unknown."}`})
	if err := client.Delete(context.Background(), "/v1/bdbs/1"); !IsNotFound(err) || IsNotFound(errors.New("other")) {
		t.Error(err)
	}
}
