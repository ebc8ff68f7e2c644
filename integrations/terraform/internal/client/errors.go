package client

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal by the console.
type Error struct {
	Status  int
	Code    string // stable, such as `name_exists`; empty if the reply contains none
	Message string
	Field   string // of the request, if the console names one
	request string
	isBusy  bool
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s (%s: status %d", e.Message, e.request, e.Status)
	if e.Code != "" {
		text += ", " + e.Code
	}
	return text + ")"
}

// IsNotFound returns whether the object does not exist.
func IsNotFound(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Status == http.StatusNotFound
}

// FieldOf returns the field that the console rejected, or an empty string.
func FieldOf(err error) string {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Field
	}
	return ""
}

// isBusy returns whether another operation changes the object at the moment.
func isBusy(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.isBusy
}

func newError(method, path string, reply *http.Response, content []byte) *Error {
	refusal := &Error{
		Status:  reply.StatusCode,
		request: method + " " + path,
		isBusy:  reply.StatusCode == http.StatusConflict && reply.Header.Get("Retry-After") != "",
	}
	var body struct {
		Code        string `json:"error_code"`
		Description string `json:"description"`
		Message     string `json:"message"`
		Field       string `json:"field"`
	}
	if json.Unmarshal(content, &body) == nil {
		refusal.Code, refusal.Message, refusal.Field = body.Code, body.Description, body.Field
		if refusal.Message == "" {
			refusal.Message = body.Message
		}
	}
	if refusal.Message == "" {
		refusal.Message = fallbackMessage(reply, content)
	}
	return refusal
}

func fallbackMessage(reply *http.Response, content []byte) string {
	text := string(bytes.TrimSpace(content))
	switch {
	case reply.StatusCode == http.StatusUnauthorized:
		return "The username, password, or token is wrong."
	case reply.StatusCode >= 300 && reply.StatusCode < 400:
		return "The console redirects to " + reply.Header.Get("Location") + ". Use the URL of the REST API."
	case text != "" && len(text) <= 300 && !strings.HasPrefix(text, "<"):
		return text
	}
	return http.StatusText(reply.StatusCode)
}

// isTransient returns whether the same request may succeed, and cannot have been executed twice then.
func isTransient(method string, err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status == http.StatusServiceUnavailable || refusal.Status == http.StatusTooManyRequests
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return false
	}
	var connection *net.OpError
	if errors.As(err, &connection) && connection.Op == "dial" {
		return true
	}
	var transport net.Error
	return method == http.MethodGet && errors.As(err, &transport)
}

// retryAfter returns the pause that a reply asks for in seconds or as a date, or zero.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}
