"""Conditions of authentication, TLS and authorization.

Source: ``NetworkClient.java`` and ``Selector.java`` of 1.0 to 3.8, ``JaasContext.java``,
``DefaultSslEngineFactory.java``, ``KafkaApis.scala``; the texts of TLS are the JDK's.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Sign

SECURITY = (
    Condition(
        key="certificate-refused",
        headline="A TLS certificate is refused in a connection of {broker}.",
        means="It has expired, is not signed by a trusted authority, or does not name the host.",
        source="KIP-492; ssl.endpoint.identification.algorithm (KIP-294)",
        advice="Renew the certificate, and compare trust stores and names with the hosts in the listeners.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                anywhere=r"Certificate(?:Expired|NotYetValid)Exception"
                r"|PKIX path (?:building|validation) failed"
                r"|No subject alternative \w+|No name matching \S+ found"
            ),
        ),
    ),
    Condition(
        key="keystore-unreadable",
        headline="{broker} cannot read a key store or trust store.",
        means="The file is missing or damaged, or its password or type is wrong.",
        source="DefaultSslEngineFactory, ssl.keystore.location",
        advice="Check location, type and password with keytool -list.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Failed to load (?:SSL )?(?:key|trust)?store|Keystore was tampered with"),),
    ),
    Condition(
        key="login-missing",
        headline="{broker} has no JAAS section for a login that it needs.",
        means="SASL is configured for a listener or for ZooKeeper, and its login is not.",
        source="JaasContext, KIP-85",
        advice="Set sasl.jaas.config of the listener, or the file in java.security.auth.login.config.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Could not find a '\w+' (?:or '\S+' )?entry in the JAAS configuration"),),
    ),
    Condition(
        key="authorization-missing",
        headline="{broker} may not do what brokers must: the authorizer refuses a request between brokers.",
        means="Brokers need ClusterAction on the cluster to fetch, or to be super users.",
        source="ClusterAuthorizationException; KIP-11",
        advice="Add the brokers' principals to super.users of all brokers and controllers.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"ClusterAuthorizationException|Broker is not authorized to send \w+"),),
    ),
    Condition(
        key="peer-refuses-login",
        headline="{writer} cannot log in to {broker}: authentication or TLS between brokers fails.",
        means="Credentials or certificates do not fit, so requests and fetches between both fail.",
        source="NetworkClient.processDisconnection (1.0 on)",
        advice="Compare sasl.mechanism.inter.broker.protocol, its credentials and the certificates of both.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                r"Connection to node (?P<subject>\d+)(?: \(.*?\))? failed authentication due to: "
                r"(?P<error>.*)"
            ),
            Sign(r"Connection to node (?P<subject>\d+)(?: \(.*?\))? terminated during authentication\. .*"),
        ),
    ),
    Condition(
        key="registration-unauthenticated",
        headline="The controller refuses the login of {broker}.",
        means="The broker cannot register or send heartbeats, so it is fenced.",
        source="BrokerLifecycleManager",
        advice="Check the credentials and certificates of the controllers' listener.",
        alarm=Alarm.NOW,
        signs=(
            Sign(r"Unable to register broker (?P<subject>\d+) because of an authentication exception\."),
            Sign(
                r"Unable to send broker heartbeat for (?P<subject>\d+) because of an authentication "
                r"exception\."
            ),
            Sign(r"Request .* failed due to authentication error", ("KafkaNetworkChannel",)),
        ),
    ),
    Condition(
        key="clients-refused",
        headline="{broker} refused connections that failed to authenticate.",
        means="Clients, or other brokers, gave wrong credentials or certificates, or spoke without TLS.",
        source="Selector.java (2.0 on), KIP-152",
        advice="Find the address in the error; if it is a broker's, compare both configurations.",
        alarm=Alarm.SOON,
        signs=(Sign(r"Failed authentication with (?P<error>.*)", ("Selector",)),),
    ),
)
