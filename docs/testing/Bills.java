import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes records for as long as lines come in, one a line, and prints the offset of each. */
class Bills {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0],
            "acks", "all",
            "key.serializer", StringSerializer.class,
            "value.serializer", StringSerializer.class);
        try (var producer = new KafkaProducer<String, String>(settings);
                var lines = new java.util.Scanner(System.in)) {
            while (lines.hasNextLine()) {
                Future<RecordMetadata> written = producer.send(new ProducerRecord<>("bills", lines.nextLine()));
                System.out.println(written.get().offset());
            }
        }
    }
}
